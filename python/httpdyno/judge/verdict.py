"""A verdict for every sample: what the client printed beside what the web serves and what the origin saw."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.arrival import CLOCK_SLACK_NS, BoolArray, Claims, Int64Array, Requests, seen_within
from httpdyno.judge.reference import Reference
from httpdyno.judge.saturation import name_timeouts
from httpdyno.model import Verdict

__all__ = ["VERDICTS", "Judged", "judge_samples", "latest_allowed_ns"]

VERDICTS: Final = pl.Enum([verdict.value for verdict in Verdict])
_WRONG: Final = [verdict.value for verdict in Verdict if verdict.wrong]
_COMMAS_TRIED: Final = 16
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Judged:
    """The samples of a trial with their verdicts, and what of the output belongs to no sample.

    Attributes
    ----------
    samples : pl.DataFrame
        The columns of ``model.Sample`` but for ``trial``, and ``precision_ns``; in the order printed.
    foreign, duplicates, missing : int
        Lines of a URL that was never given; lines of a URL beyond the number of times that it was given; URLs given
        that have no line.
    foreign_examples, duplicate_examples, missing_examples : tuple[str, ...]
        The first URLs of each.
    """

    samples: pl.DataFrame
    foreign: int = 0
    duplicates: int = 0
    missing: int = 0
    foreign_examples: tuple[str, ...] = ()
    duplicate_examples: tuple[str, ...] = ()
    missing_examples: tuple[str, ...] = ()


def latest_allowed_ns(timeout_ns: int) -> int:
    """Give the longest duration that is not late: the timeout, 10 % and 100 ms."""
    return timeout_ns + timeout_ns // 10 + 100_000_000


def judge_samples(
    lines: pl.DataFrame,
    reference: Reference,
    *,
    timeout_ns: int,
    cut_short: bool = False,
    saturated: bool = False,
    known_cases: Collection[str] = (),
) -> Judged:
    """Judge every line of a client.

    The first that applies is the verdict; what the answer says comes before when it came:

    1. ``unverified``: nobody knows what the web serves.
    2. ``missed_error``: a status was reported where an error was due.
    3. ``false_error``: an error was reported where a status was due.
    4. ``wrong_status``, then ``wrong_length``: the answer is another than the web serves.
    5. ``late``: the duration is more than the timeout, 10 % and 100 ms.
    6. ``wrong_time``: a status was reported for a URL whose request must reach the origin, but no request of that URL
       lies within the claimed stretch of time. The start time counts with its precision: 1 s when it has no fraction.
    7. ``right``.

    An expectation of ``either`` accepts an error as well as the status and length that it names.

    Parameters
    ----------
    lines : pl.DataFrame
        As ``read_lines`` gives them.
    reference : Reference
        Without arrivals, no sample is ``wrong_time``.
    timeout_ns : int
        What the client was told to give each URL.
    cut_short : bool
        True when the deadline, or the user, ended the trial: URLs without a line become samples, ``not_reached``.
    saturated : bool
        True when the client was out of processor time: its own timeouts on honest answers then have that cause.
    known_cases : Collection[str]
        Causes of the subject's known failures; a wrong sample with such a cause is ``explained``.
    """
    expected, given = _distinct(reference.expectations)
    matched, foreign = _match(lines, expected)
    ids = matched["id"].to_numpy().astype(np.int64)
    surplus = _surplus(ids, given)
    duplicates = matched.filter(pl.Series(surplus))
    if len(duplicates):
        matched, ids = matched.filter(pl.Series(~surplus)), ids[~surplus]
    samples = _with_verdicts(matched, ids, expected, reference.arrivals, timeout_ns=timeout_ns)
    if saturated:
        samples = name_timeouts(samples, timeout_ns=timeout_ns)
    unprinted = np.repeat(np.arange(len(given)), given - np.bincount(ids, minlength=len(given)))
    missing = expected["url"].gather(unprinted)
    if cut_short:
        cause = expected["cause"].gather(unprinted)
        samples = pl.concat([samples, _not_reached(missing, cause, samples.schema)])
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


def _distinct(expectations: pl.DataFrame) -> tuple[pl.DataFrame, Int64Array]:
    """Each URL once, with its number as ``id``, and how often it was given: its answer is the same each time."""
    expected = expectations.unique("url", keep="first", maintain_order=True)
    if len(expected) == len(expectations):
        given = np.ones(len(expected), dtype=np.int64)
    else:
        counts = expected.select("url").join(
            expectations.group_by("url").len("given"), on="url", how="left", maintain_order="left"
        )
        given = counts["given"].to_numpy().astype(np.int64)
    return expected.with_row_index("id"), given


def _match(lines: pl.DataFrame, expected: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines with the ``id`` of their URL, and the lines whose URL was not given."""
    ids = expected.select("url", "id")
    matched = lines.join(ids, on="url", how="left", maintain_order="left")
    foreign = matched.filter(pl.col("id").is_null()).drop("id")
    if foreign.is_empty():
        return matched, foreign
    again = _with_commas_in_error(foreign, ids)
    matched = pl.concat([matched.filter(pl.col("id").is_not_null()), again]).sort("line")
    return matched, foreign.join(again.select("line"), on="line", how="anti")


def _with_commas_in_error(foreign: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """Lines of an error whose text contains commas: the URL ends at an earlier comma than the last but four.

    The longest URL that was given wins; an error text with more commas than are tried stays foreign.
    """
    found: list[pl.DataFrame] = []
    rest = foreign.filter(pl.col("status").is_null())
    for _ in range(_COMMAS_TRIED):
        parts = pl.col("url").str.extract_groups(r"^(.*),([^,]*)$").struct
        rest = (
            rest.filter(pl.col("url").str.contains(",", literal=True))
            .with_columns(url=parts.field("1"), code=parts.field("2") + "," + pl.col("code"))
            .join(ids, on="url", how="left", maintain_order="left")
        )
        found.append(rest.filter(pl.col("id").is_not_null()))
        rest = rest.filter(pl.col("id").is_null()).drop("id")
        if rest.is_empty():
            break
    return pl.concat(found)


def _surplus(ids: Int64Array, given: Int64Array) -> BoolArray:
    """Lines beyond the number of times that their URL was given: the later ones."""
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


def _with_verdicts(
    matched: pl.DataFrame, ids: Int64Array, expected: pl.DataFrame, arrivals: pl.DataFrame | None, *, timeout_ns: int
) -> pl.DataFrame:
    due = {name: expected[name].gather(ids) for name in ("outcome", "status", "length", "cause")}
    frame = matched.drop("id").with_columns(
        error=pl.when(pl.col("status").is_null()).then("code"),
        cause=due["cause"].cast(pl.String),
        due=due["outcome"].cast(pl.String),
        due_status=due["status"],
        due_length=due["length"],
        unseen=_unseen(matched, ids, expected, arrivals),
    )
    answered = pl.col("status").is_not_null()
    compared = answered & (pl.col("due") != "error")
    verdict = (
        pl.when(pl.col("due").is_null())
        .then(_literal(Verdict.UNVERIFIED))
        .when(answered & (pl.col("due") == "error"))
        .then(_literal(Verdict.MISSED_ERROR))
        .when(~answered & (pl.col("due") == "status"))
        .then(_literal(Verdict.FALSE_ERROR))
        .when(compared & (pl.col("status") != pl.col("due_status")))
        .then(_literal(Verdict.WRONG_STATUS))
        .when(compared & pl.col("due_length").is_not_null() & pl.col("body_length").ne_missing(pl.col("due_length")))
        .then(_literal(Verdict.WRONG_LENGTH))
        .when(pl.col("duration_ns") > latest_allowed_ns(timeout_ns))
        .then(_literal(Verdict.LATE))
        .when(answered & pl.col("unseen"))
        .then(_literal(Verdict.WRONG_TIME))
        .otherwise(_literal(Verdict.RIGHT))
    )
    return frame.with_columns(verdict=verdict).select(
        "line",
        "url",
        "code",
        "status",
        "error",
        "start_ns",
        "duration_ns",
        "body_length",
        "cause",
        "verdict",
        "precision_ns",
    )


def _literal(verdict: Verdict) -> pl.Expr:
    return pl.lit(verdict.value, dtype=VERDICTS)


def _unseen(matched: pl.DataFrame, ids: Int64Array, expected: pl.DataFrame, arrivals: pl.DataFrame | None) -> pl.Series:
    """Whether a request must have reached the origin, but none did within the claimed stretch."""
    if arrivals is None:
        return pl.repeat(False, len(matched), eager=True)
    must_arrive = (expected["arrives"] == 1).fill_null(False)
    group_of_id, logged = _groups(expected, must_arrive, arrivals)
    group = group_of_id[ids]
    start = matched["start_ns"].to_numpy()
    tolerance = matched["precision_ns"].to_numpy() + CLOCK_SLACK_NS
    end = start + matched["duration_ns"].to_numpy() + tolerance
    requests_seen = Requests(
        logged["group"].cast(pl.Int64).to_numpy(),
        logged["at_ns"].to_numpy(),
        logged["done_ns"].fill_null(logged["at_ns"]).to_numpy(),
    )
    seen = seen_within(Claims(group, start - tolerance, end), requests_seen)
    return pl.Series(must_arrive.to_numpy()[ids] & ~seen)


def _groups(expected: pl.DataFrame, must_arrive: pl.Series, arrivals: pl.DataFrame) -> tuple[Int64Array, pl.DataFrame]:
    """Numbers for requests that must arrive: of each ``id`` (-1 for none), and of the arrivals that were expected."""
    requests = expected.filter(must_arrive).select(url="request_url", group="id")
    distinct = requests.unique("url", keep="first", maintain_order=True)
    if len(distinct) == len(requests):
        numbers = pl.when(must_arrive).then("id")
        group_of_id = expected.select(numbers.cast(pl.Int64).fill_null(-1)).to_series()
    else:
        # URLs that differ may make the same request: https://example.org and https://example.org/.
        joined = expected.select(url="request_url").join(distinct, on="url", how="left", maintain_order="left")
        group_of_id = joined["group"].cast(pl.Int64).fill_null(-1)
    return group_of_id.to_numpy(), arrivals.join(distinct, on="url", how="inner").drop("url")


def _not_reached(urls: pl.Series, cause: pl.Series, schema: pl.Schema) -> pl.DataFrame:
    known = {
        "url": urls,
        "cause": cause.cast(pl.String),
        "verdict": pl.repeat(Verdict.NOT_REACHED.value, len(urls), eager=True),
    }
    return pl.DataFrame(
        {name: known.get(name, pl.repeat(None, len(urls), eager=True)).cast(type_) for name, type_ in schema.items()}
    )
