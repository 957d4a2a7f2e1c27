"""A verdict for every sample: compares the client's line with the served answer and the requests that arrived."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.reference import CHECK_FAILED, FIRST_STATUSES, WRONG_CONTENT, Reference, TextIndex
from httpdyno.model import KnownFailure, Link, Verdict
from httpdyno.stats import BoolArray, Int64Array

TIMED_OUT_OVER_LINK: Final = KnownFailure(
    case="timeout_over_link",
    reason="the link may take longer than the time that the web's answers leave of the timeout; try a longer --timeout",
    issue="",
)
"""Explains good answers that a client abandoned at its timeout, over a link for which that may be right."""

_LEFT: Final = 0.4
"""Share of the timeout that remains for the client and its path: good answers are planned to end earlier."""
_ROUND_TRIPS: Final = 24
"""Round trips of a chain of three hosts (five each for name, connection, handshake, request), and of slow start."""


def outlasts_plan(link: Link, *, timeout_ns: int) -> bool:
    """Return whether a good answer may take longer over a link than the client's timeout.

    Distance can be counted in round trips. But the time that packets wait for a rate that they share, or for a
    retransmission, cannot be predicted: over such links an answer may always take longer.
    """
    unforeseen = any(path.rate_bits_per_s is not None or path.loss > 0 for path in (link.up, link.down))
    return unforeseen or _ROUND_TRIPS * link.round_trip_ns > _LEFT * timeout_ns


CLOCK_SLACK_NS: Final = 2_000_000
"""Tolerance for clock readings and durations in whole milliseconds: 2 ms at either end, plus the precision of the
start."""
DONE_SLACK_NS: Final = 100_000_000
"""Tolerance for the last bytes: they may be only framing, for which a decoder does not wait."""


def seen_within(claims: pl.DataFrame, requests: pl.DataFrame) -> BoolArray:
    """Return for each claimed period whether one request of its group lies within it: shape (n,).

    A request lies within if it arrived no earlier than ``begin_ns`` and no later than ``end_ns``, and was answered no
    later than ``DONE_SLACK_NS`` after ``end_ns``.

    Parameters
    ----------
    claims : n rows
        ``group``, ``begin_ns`` and ``end_ns``. A group is the number of a URL, from 0; -1 means no URL, which is never
        seen. Groups are numbered without large gaps.
    requests
        ``group``, ``at_ns`` and ``done_ns``, which equals ``at_ns`` if the answer was never completed.
    """
    claimed, begin_ns, end_ns = (claims[name].to_numpy() for name in ("group", "begin_ns", "end_ns"))
    requested, at_ns, done_ns = (requests[name].to_numpy() for name in ("group", "at_ns", "done_ns"))
    if len(requested) == 0:
        return np.zeros(len(claims), dtype=np.bool_)
    # The earliest end of a period within which the request lies.
    last_ns = np.maximum(at_ns, done_ns - DONE_SLACK_NS)
    # One entry more than there are groups: -1 refers to the last, which no request has.
    groups = max(int(requested.max()), int(claimed.max(initial=-1))) + 2
    logged = np.bincount(requested, minlength=groups)
    place = np.zeros(groups, dtype=np.int64)
    place[requested] = np.arange(len(requested))
    request = place[claimed]
    # Nearly every URL is requested once; then one comparison suffices.
    seen: BoolArray = (begin_ns <= at_ns[request]) & (last_ns[request] <= end_ns) & (logged[claimed] == 1)
    often = np.flatnonzero(logged[claimed] > 1)
    if len(often):
        repeated = requests.with_columns(last_ns=last_ns).filter(logged[requested] > 1).sort("at_ns")
        earliest = repeated.with_columns(pl.col("last_ns").cum_min(reverse=True).over("group"))
        some = claims[often].with_row_index().sort("begin_ns")
        found = some.join_asof(
            earliest, left_on="begin_ns", right_on="at_ns", by="group", strategy="forward", check_sortedness=False
        )
        within = (pl.col("last_ns") <= pl.col("end_ns")).fill_null(False)
        seen[often] = found.sort("index").select(within).to_series().to_numpy()
    return seen


VERDICTS: Final = pl.Enum([verdict.value for verdict in Verdict])
_WRONG: Final = [verdict.value for verdict in Verdict if verdict.wrong]
_OF_CONTENT: Final = pl.Series(
    [verdict.value for verdict in (Verdict.WRONG_STATUS, Verdict.WRONG_LENGTH, Verdict.FALSE_ERROR)], dtype=VERDICTS
)
_COMMAS_TRIED: Final = 16
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """The samples of a trial with their verdicts, and the lines that belong to no sample."""

    samples: pl.DataFrame
    """The columns of ``model.Sample`` except ``trial``, and ``precision_ns``; in the order printed."""
    foreign: int = 0
    """Lines for URLs that are not in the list."""
    duplicates: int = 0
    """Lines for a URL beyond its occurrences in the list."""
    missing: int = 0
    """URLs of the list without a line."""
    foreign_examples: tuple[str, ...] = ()
    duplicate_examples: tuple[str, ...] = ()
    missing_examples: tuple[str, ...] = ()
    """The first URLs of each kind."""


def judge_samples(
    lines: pl.DataFrame,
    reference: Reference,
    *,
    timeout_ns: int,
    cut_short: bool = False,
    saturated: bool = False,
    over_link: bool = False,
    known_cases: Collection[str] = (),
) -> Judged:
    """Judge every line of a client.

    The first that applies is the verdict; the content of an answer comes before its time:

    1. ``unverified``: what the web serves is unknown.
    2. ``missed_error``: a status was reported instead of an expected error.
    3. ``false_error``: an error was reported instead of an expected status, or another error than ``CheckFailed`` if
    only the content was wrong, since nothing prevented reading it.
    4. ``wrong_status``, then ``wrong_length``: the answer differs from what the web serves.
    5. ``late``: the duration is more than the timeout, 10 % and 100 ms.
    6. ``wrong_time``: a status was reported for a URL whose request must reach the origin, but no request of that URL
    lies within the claimed period. The precision of the start time counts: 1 s if it has no fraction.
    7. ``right``.

    An expectation of ``either`` accepts both an error and the status and length that it has.

    Without arrivals no sample is ``wrong_time``. ``cut_short``: the deadline, or the user, ended the trial, so URLs
    without a line become samples that are ``not_reached``. ``saturated``, ``over_link``: the client had no CPU time
    left, or the link may take longer than the timeout allows; timeouts on good answers then have that cause. A wrong
    sample whose cause is among ``known_cases`` is ``explained``.
    """
    expectations = reference.expectations
    given = expectations.given
    matched, ids, foreign = _match(lines, expectations.urls)
    surplus = _surplus(ids, given)
    duplicates = matched.filter(pl.Series(surplus))
    if len(duplicates):
        matched, ids = matched.filter(pl.Series(~surplus)), ids[~surplus]
    samples = _with_verdicts(matched, ids, reference, timeout_ns=timeout_ns)
    if over_link or saturated:
        why = TIMED_OUT_OVER_LINK.case if over_link else TIMED_OUT_SATURATED
        samples = name_timeouts(samples, why, timeout_ns=timeout_ns)
    unprinted = np.repeat(np.arange(len(given)), given - np.bincount(ids, minlength=len(given)))
    missing = expectations.distinct["url"].gather(unprinted)
    if cut_short:
        cause = expectations.distinct["cause"].gather(unprinted)
        not_reached = pl.DataFrame({"url": missing, "cause": cause}, schema_overrides={"cause": pl.String})
        verdict = pl.lit(Verdict.NOT_REACHED.value, VERDICTS)
        samples = pl.concat([samples, not_reached.with_columns(verdict=verdict)], how="diagonal")
    explained = pl.col("verdict").is_in(pl.Series(_WRONG, dtype=VERDICTS).implode()) & pl.col("cause").is_in(
        list(known_cases)
    ).fill_null(False)
    return Judged(
        samples.with_columns(explained=explained),
        foreign=len(foreign),
        duplicates=len(duplicates),
        missing=len(missing),
        foreign_examples=tuple(foreign["url"].head(_EXAMPLES)),
        duplicate_examples=tuple(duplicates["url"].head(_EXAMPLES)),
        missing_examples=tuple(missing.head(_EXAMPLES)),
    )


def _match(lines: pl.DataFrame, urls: TextIndex) -> tuple[pl.DataFrame, Int64Array, pl.DataFrame]:
    """Return the lines of URLs in the list, the rows of these URLs, and the lines of other URLs."""
    ids = urls.find(lines["url"])
    if (ids >= 0).all():
        return lines, ids, lines.clear()
    numbered = lines.with_columns(id=pl.Series(ids))
    foreign = numbered.filter(pl.col("id") < 0)
    again = _with_commas_in_error(foreign, urls)
    matched = pl.concat([numbered.filter(pl.col("id") >= 0), again]).sort("line")
    foreign = foreign.join(again.select("line"), on="line", how="anti", maintain_order="left")
    return matched.drop("id"), matched["id"].to_numpy(), foreign


def _with_commas_in_error(foreign: pl.DataFrame, urls: TextIndex) -> pl.DataFrame:
    """Find lines of an error whose text contains commas: the URL ends before the fourth comma from the end.

    The longest URL of the list wins; an error with more commas than are tried remains foreign.
    """
    found = [foreign.clear()]
    rest = foreign.filter(pl.col("status").is_null())
    for _ in range(_COMMAS_TRIED):
        parts = pl.col("url").str.extract_groups(r"^(.*),([^,]*)$").struct
        rest = rest.filter(pl.col("url").str.contains(",", literal=True)).with_columns(
            url=parts.field("1"), code=parts.field("2") + "," + pl.col("code")
        )
        if rest.is_empty():
            break
        rest = rest.with_columns(id=pl.Series(urls.find(rest["url"])))
        found.append(rest.filter(pl.col("id") >= 0))
        rest = rest.filter(pl.col("id") < 0)
    return pl.concat(found)


def _surplus(ids: Int64Array, given: Int64Array) -> BoolArray:
    """Return which lines exceed the occurrences of their URL in the list: the later ones."""
    surplus = np.zeros(len(ids), dtype=np.bool_)
    printed = np.bincount(ids, minlength=len(given))
    suspects = np.flatnonzero(printed[ids] > given[ids]) if len(ids) else ids
    if len(suspects):
        suspect = ids[suspects]
        order = np.argsort(suspect, kind="stable")
        ordered = suspect[order]
        occurrence = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        surplus[suspects[order]] = occurrence >= given[ordered]
    return surplus


def _with_verdicts(matched: pl.DataFrame, ids: Int64Array, reference: Reference, *, timeout_ns: int) -> pl.DataFrame:
    expected = reference.expectations.distinct
    frame = matched.with_columns(
        error=pl.when(pl.col("status").is_null()).then("code"),
        unseen=_unseen(matched, ids, reference),
        cause=expected["cause"].gather(ids),
        due=expected["outcome"].gather(ids),
        served_status=expected["status"].gather(ids),
        served_body_length=expected["length"].gather(ids),
    )
    answered = pl.col("status").is_not_null()
    # The first answer of a host that counts requests is right for a client that does not ask again.
    first_answer = pl.col("cause").replace_strict(FIRST_STATUSES, default=None, return_dtype=pl.Int64)
    asked_once = (pl.col("due") == "either") & (pl.col("status") == first_answer).fill_null(False)
    compared = answered & (pl.col("due") != "error") & ~asked_once
    has_length = pl.col("served_body_length").is_not_null()
    unread = (pl.col("cause") == WRONG_CONTENT).fill_null(False) & (pl.col("code") != CHECK_FAILED)
    conditions = {
        Verdict.UNVERIFIED: pl.col("due").is_null(),
        Verdict.MISSED_ERROR: answered & (pl.col("due") == "error"),
        Verdict.FALSE_ERROR: ~answered & ((pl.col("due") == "status") | unread),
        Verdict.WRONG_STATUS: compared & (pl.col("status") != pl.col("served_status")),
        Verdict.WRONG_LENGTH: compared & has_length & pl.col("body_length").ne_missing(pl.col("served_body_length")),
        Verdict.LATE: pl.col("duration_ns") > timeout_ns + timeout_ns // 10 + 100_000_000,
        Verdict.WRONG_TIME: answered & pl.col("unseen"),
    }
    first = pl.lit(Verdict.RIGHT.value, VERDICTS)
    for verdict, condition in reversed(conditions.items()):
        first = pl.when(condition).then(pl.lit(verdict.value, VERDICTS)).otherwise(first)
    served = pl.when(pl.col("verdict").is_in(_OF_CONTENT.implode())).then(pl.col("served_status", "served_body_length"))
    return frame.with_columns(verdict=first).with_columns(served).drop("due", "unseen")


def _unseen(matched: pl.DataFrame, ids: Int64Array, reference: Reference) -> pl.Series:
    """Return whether a request must have reached the origin, but none did within the claimed period."""
    if reference.arrivals is None:
        return pl.repeat(False, len(matched), eager=True)
    request = pl.Series(reference.expectations.request[ids])
    tolerance = pl.col("precision_ns") + CLOCK_SLACK_NS + reference.clock_bound_ns
    claims = matched.select(
        group=request,
        begin_ns=pl.col("start_ns") - tolerance,
        end_ns=pl.col("start_ns") + pl.col("duration_ns") + tolerance,
    )
    # Only the arrivals of requests that must arrive.
    known = reference.arrivals.filter(pl.col("url").is_not_null())
    requests = known.select(
        "at_ns",
        group=pl.Series(reference.expectations.requests.find(known["url"])),
        done_ns=pl.coalesce("done_ns", "at_ns"),
    ).filter(pl.col("group") >= 0)
    return (request >= 0) & ~pl.Series(seen_within(claims, requests))


TIMED_OUT_SATURATED: Final = "timeout_when_saturated"
"""Cause of a good answer that a saturated client abandoned at its timeout; a ``known_failure`` may name it."""
_OWN_TIMEOUT_SHARE: Final = 0.98


def name_timeouts(samples: pl.DataFrame, cause: str, *, timeout_ns: int) -> pl.DataFrame:
    """Name the cause of false errors that took as long as the client's timeout."""
    own_timeout = (pl.col("verdict").cast(pl.String) == Verdict.FALSE_ERROR.value) & (
        pl.col("duration_ns") >= round(_OWN_TIMEOUT_SHARE * timeout_ns)
    )
    named = pl.when(own_timeout.fill_null(False)).then(pl.lit(cause)).otherwise(pl.col("cause"))
    return samples.with_columns(cause=named)
