"""Verdicts: one table of correct answers, and of lines without a URL."""

from collections.abc import Collection

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.judge import Expectations, Reference, expectations_unknown
from httpdyno.judge.lines import LINE_COLUMNS
from httpdyno.judge.reference import EXPECTED, Served, wrong_words
from httpdyno.judge.verdict import DONE_SLACK_NS, Judged, judge_samples, seen_within

MS = 10**6
T = 1_729_512_000 * 10**9
TIMEOUT = 1000 * MS
URL = "https://a.example"

Line = tuple[str, str, int, int, int | None]
"""URL, code, start after T in ms, duration in ms, body length."""
Due = tuple[str, str | None, int | None, int | None, str | None, int]
"""URL, outcome, status, length, cause, arrives."""


def printed(*lines: Line, precision_ns: int = MS) -> pl.DataFrame:
    rows = [
        (i + 1, url, code, int(code) if code.isdigit() else None, T + start * MS, precision_ns, duration * MS, length)
        for i, (url, code, start, duration, length) in enumerate(lines)
    ]
    return pl.DataFrame(rows, schema=LINE_COLUMNS, orient="row")


def expected(*due: Due) -> Expectations:
    return Expectations.of(pl.DataFrame([(*row, request_url(row[0])) for row in due], schema=EXPECTED, orient="row"))


def request_url(url: str) -> str:
    return url if url.count("/") > 2 else url + "/"


def arrived(*requests: tuple[str, int, int | None]) -> pl.DataFrame:
    """URL as requested, arrival and end after T in ms."""
    rows = [(T + at * MS, None if done is None else T + done * MS, url) for url, at, done in requests]
    return pl.DataFrame(rows, schema={"at_ns": pl.Int64, "done_ns": pl.Int64, "url": pl.String}, orient="row")


def judge(
    lines: pl.DataFrame,
    due: Expectations,
    log: pl.DataFrame | None = None,
    *,
    cut_short: bool = False,
    known: Collection[str] = (),
) -> Judged:
    return judge_samples(lines, Reference(due, log), timeout_ns=TIMEOUT, cut_short=cut_short, known_cases=known)


PAGE: Due = (URL, "status", 200, 300, None, 1)
STALL: Due = (URL, "error", None, None, "stall_tls", 0)
BUSY: Due = (URL, "either", 200, 300, "too_many_requests", 2)
GREY: Due = (URL, "either", 200, 300, "slow", 1)
LIE: Due = (URL, "error", None, None, "check_failed", 1)
SEEN, ELSEWHEN = (URL + "/", 10, 20), (URL + "/", 900, 910)


@pytest.mark.parametrize(
    ("line", "due", "request_", "verdict"),
    [
        # an answer is due
        ((URL, "200", 0, 50, 300), PAGE, SEEN, "right"),
        ((URL, "404", 0, 50, 300), PAGE, SEEN, "wrong_status"),
        ((URL, "200", 0, 50, 299), PAGE, SEEN, "wrong_length"),
        ((URL, "200", 0, 50, None), PAGE, SEEN, "wrong_length"),
        ((URL, "200", 0, 1200, 300), PAGE, SEEN, "right"),
        ((URL, "200", 0, 1201, 300), PAGE, SEEN, "late"),
        ((URL, "200", 0, 50, 300), PAGE, ELSEWHEN, "wrong_time"),
        ((URL, "200", 0, 50, 300), PAGE, None, "wrong_time"),
        ((URL, "Timeout", 0, 50, None), PAGE, SEEN, "false_error"),
        ((URL, "204", 0, 50, None), (URL, "status", 204, None, None, 1), SEEN, "right"),
        ((URL, "200", 0, 50, 300), (URL, "status", 200, 300, None, 0), None, "right"),
        # an error is due
        ((URL, "Timeout", 0, 1000, None), STALL, None, "right"),
        ((URL, "AnyName", 0, 1, 7), STALL, None, "right"),
        ((URL, "200", 0, 50, 300), STALL, None, "missed_error"),
        ((URL, "Timeout", 0, 8000, None), STALL, None, "late"),
        # the content is wrong, and only that
        ((URL, "CheckFailed", 0, 50, 300), LIE, SEEN, "right"),
        ((URL, "200", 0, 50, 300), LIE, SEEN, "missed_error"),
        ((URL, "Timeout", 0, 50, None), LIE, SEEN, "false_error"),
        ((URL, "CheckFailed", 0, 1201, 300), LIE, SEEN, "late"),
        ((URL, "CheckFailed", 0, 50, 300), PAGE, SEEN, "false_error"),
        ((URL, "ResetByPeer", 0, 50, None), (URL, "error", None, None, "reset_mid_body", 1), None, "right"),
        # either is accepted
        ((URL, "Timeout", 0, 1000, None), GREY, None, "right"),
        ((URL, "200", 0, 50, 300), GREY, SEEN, "right"),
        ((URL, "500", 0, 50, 300), GREY, SEEN, "wrong_status"),
        ((URL, "200", 0, 50, 1), GREY, SEEN, "wrong_length"),
        ((URL, "200", 0, 50, 300), GREY, ELSEWHEN, "wrong_time"),
        ((URL, "Timeout", 0, 1201, None), GREY, None, "late"),
        # the first answer, or the second
        ((URL, "429", 0, 50, 7), BUSY, SEEN, "right"),
        ((URL, "200", 0, 50, 300), BUSY, SEEN, "right"),
        ((URL, "503", 0, 50, 7), BUSY, SEEN, "wrong_status"),
        ((URL, "429", 0, 50, 7), GREY, SEEN, "wrong_status"),
        # unknown truth
        ((URL, "200", 0, 9000, 1), (URL, None, None, None, None, None), None, "unverified"),
        # several faults at once: the content comes before the time
        ((URL, "404", 0, 9000, 299), PAGE, None, "wrong_status"),
        ((URL, "200", 0, 9000, 299), PAGE, None, "wrong_length"),
        ((URL, "200", 0, 9000, 300), PAGE, None, "late"),
        ((URL, "Timeout", 0, 9000, None), PAGE, None, "false_error"),
        ((URL, "200", 0, 9000, 300), STALL, None, "missed_error"),
    ],
)
def test_verdicts(line: Line, due: Due, request_: tuple[str, int, int] | None, verdict: str) -> None:
    judged = judge(printed(line), expected(due), arrived(*([request_] if request_ else [])))
    assert judged.samples["verdict"].to_list() == [verdict]
    assert (judged.foreign, judged.duplicates, judged.missing) == (0, 0, 0)
    # The progress verdict of a line equals its final verdict.
    (served,) = expected(due).served([URL])
    assert served
    result = wrong_words(line[1], line[4], served)
    assert (result is not None) is (verdict in {"wrong_status", "wrong_length", "false_error", "missed_error"})


def test_what_was_due_is_kept_where_code_or_length_is_wrong() -> None:
    lines = printed((URL, "404", 0, 50, 300), ("https://b.example", "200", 0, 9000, 300))
    due = expected(PAGE, ("https://b.example", "status", 200, 300, None, 0))
    samples = judge(lines, due).samples
    assert samples.select("verdict", "served_status", "served_body_length").rows() == [
        ("wrong_status", 200, 300),
        ("late", None, None),
    ]


@pytest.mark.parametrize(
    ("code", "length", "served", "words"),
    [
        ("200", 16383, Served("status", 200, 16384), "200, 16383 B; served 16384"),
        ("200", None, Served("status", 200, 0), "200, no length; served 0"),
        ("404", 9, Served("either", 200, 16384), "404; served 200"),
        ("Timeout", None, Served("status", 200, 16384), "Timeout; served 200"),
        ("Timeout", None, Served("error", None, None, "check_failed"), "Timeout; expected CheckFailed"),
        ("200", 5, Served("error", None, None, "stall_tls"), "200; expected an error: stall_tls"),
        ("200", 5, Served(None), None),
    ],
)
def test_a_wrong_answer_is_described_with_the_served_one(
    code: str, length: int | None, served: Served, words: str | None
) -> None:
    assert wrong_words(code, length, served) == words


@pytest.mark.parametrize(
    ("precision_ns", "at", "verdict"),
    [
        # The stretch is 100 to 150 ms after T, and as much longer as its digits leave open.
        (MS, 97, "right"),
        (MS, 96, "wrong_time"),
        (MS, 153, "right"),
        (MS, 154, "wrong_time"),
        (1, 98, "right"),
        (1, 97, "wrong_time"),
        (1000 * MS, -902, "right"),
        (1000 * MS, -903, "wrong_time"),
        (1000 * MS, 1152, "right"),
        (1000 * MS, 1153, "wrong_time"),
    ],
)
def test_a_claimed_stretch_is_as_exact_as_its_digits(precision_ns: int, at: int, verdict: str) -> None:
    lines = printed((URL, "200", 100, 50, 300), precision_ns=precision_ns)
    assert judge(lines, expected(PAGE), arrived((URL + "/", at, at))).samples["verdict"].to_list() == [verdict]


@pytest.mark.parametrize(("bound_ns", "verdict"), [(0, "wrong_time"), (50 * MS, "wrong_time"), (60 * MS, "right")])
def test_the_stamps_of_another_machine_are_held_to_no_more_than_is_known(bound_ns: int, verdict: str) -> None:
    # Claimed from 100 to 150 ms with the precision of one; it arrived at 40.
    due, log = expected(PAGE), arrived((URL + "/", 40, 45))
    reference = Reference(due, log, clock_bound_ns=bound_ns)
    judged = judge_samples(printed((URL, "200", 100, 50, 300)), reference, timeout_ns=TIMEOUT)
    assert judged.samples["verdict"].to_list() == [verdict]


def test_a_client_that_does_not_count_reading_the_content_claims_a_wrong_time() -> None:
    lines = printed((URL, "200", 0, 50, 300))
    slow = arrived((URL + "/", 10, 500))
    assert judge(lines, expected(PAGE), slow).samples["verdict"].to_list() == ["wrong_time"]
    never_done = arrived((URL + "/", 10, None))
    assert judge(lines, expected(PAGE), never_done).samples["verdict"].to_list() == ["right"]


def test_one_request_within_the_stretch_is_enough() -> None:
    lines = printed((URL, "200", 100, 50, 300))
    log = arrived((URL + "/", 5, 6), (URL + "/", 120, 900), (URL + "/", 130, 140), (URL + "/", 800, 810))
    assert judge(lines, expected(PAGE), log).samples["verdict"].to_list() == ["right"]


def test_without_a_log_no_time_is_wrong() -> None:
    assert judge(printed((URL, "200", 0, 50, 300)), expected(PAGE)).samples["verdict"].to_list() == ["right"]


def test_urls_that_differ_may_make_the_same_request() -> None:
    slash: Due = (URL + "/", "status", 200, 300, None, 1)
    lines = printed((URL, "200", 0, 50, 300), (URL + "/", "200", 500, 50, 300))
    judged = judge(lines, expected(PAGE, slash), arrived(SEEN, (URL + "/", 510, 520)))
    assert judged.samples["verdict"].to_list() == ["right", "right"]


def test_a_url_given_twice_is_printed_twice() -> None:
    lines = printed((URL, "200", 0, 50, 300), (URL, "200", 0, 50, 300), (URL, "404", 0, 50, 1))
    judged = judge(lines, expected(PAGE, PAGE), arrived(SEEN))
    assert judged.samples["verdict"].to_list() == ["right", "right"]
    assert (judged.duplicates, judged.duplicate_examples, judged.missing) == (1, (URL,), 0)


def test_what_was_never_given_is_foreign() -> None:
    lines = printed(("https://b.example", "200", 0, 1, 1), (URL, "200", 0, 50, 300), (URL + "/", "200", 0, 50, 300))
    judged = judge(lines, expected(PAGE), arrived(SEEN))
    assert (judged.foreign, judged.foreign_examples) == (2, ("https://b.example", URL + "/"))
    assert judged.samples["line"].to_list() == [2]


def test_what_has_no_line_is_missing_and_not_reached_when_the_trial_was_cut_short() -> None:
    due = expected(
        PAGE,
        ("https://b.example", "error", None, None, "nxdomain", 0),
        ("https://b.example", "error", None, None, "nxdomain", 0),
    )
    lines = printed((URL, "200", 0, 50, 300))
    forgot = judge(lines, due, arrived(SEEN))
    assert (forgot.missing, forgot.missing_examples, len(forgot.samples)) == (2, ("https://b.example",) * 2, 1)
    cut = judge(lines, due, arrived(SEEN), cut_short=True, known=["nxdomain"])
    assert cut.samples["verdict"].to_list() == ["right", "not_reached", "not_reached"]
    assert cut.samples["cause"].to_list() == [None, "nxdomain", "nxdomain"]
    assert cut.samples["line"].to_list() == [1, None, None]
    assert cut.samples["explained"].to_list() == [False, False, False]


@pytest.mark.parametrize(
    ("url", "code", "given_url", "given_code"),
    [
        (URL + ",could not connect", " refused", URL, "could not connect, refused"),
        (URL + ",a,b,c", "d", URL, "a,b,c,d"),
        (URL + "/x,y,oops", "z", URL + "/x,y", "oops,z"),
    ],
)
def test_an_error_text_may_contain_commas(url: str, code: str, given_url: str, given_code: str) -> None:
    due = expected((given_url, "error", None, None, "refused", 0))
    judged = judge(
        printed((url, code, 0, 1, None), (given_url, "x", 0, 1, None)),
        expected(*[(given_url, "error", None, None, "refused", 0)] * 2),
    )
    assert judged.samples.select("line", "url", "code", "error", "verdict").row(0) == (
        1,
        given_url,
        given_code,
        given_code,
        "right",
    )
    assert judged.foreign == 0
    assert judge(printed(("https://c.example,x", "y", 0, 1, None)), due).foreign == 1


def test_a_url_with_a_comma_is_not_cut_when_a_status_was_reported() -> None:
    judged = judge(printed((URL + ",x", "200", 0, 50, 300)), expected(PAGE), arrived(SEEN))
    assert (judged.foreign, len(judged.samples)) == (1, 0)


def test_hostile_error_text_full_of_commas_ends_as_foreign() -> None:
    assert judge(printed(("," * 5000, "x", 0, 1, None)), expected(PAGE)).foreign == 1


def test_known_failures_explain_what_is_wrong_and_nothing_else() -> None:
    other = "https://b.example"
    due = expected(
        STALL, (other, "error", None, None, "stall_tls", 0), ("https://c.example", "error", None, None, "refused", 0)
    )
    lines = printed((URL, "200", 0, 1, 1), (other, "Timeout", 0, 1, None), ("https://c.example", "200", 0, 1, 1))
    judged = judge(lines, due, known=["stall_tls"])
    assert judged.samples.select("verdict", "explained").rows() == [
        ("missed_error", True),
        ("right", False),
        ("missed_error", False),
    ]


def test_nothing_given_and_nothing_printed() -> None:
    judged = judge(printed(), expected(), arrived())
    assert (len(judged.samples), judged.foreign, judged.missing) == (0, 0, 0)
    assert judge(printed((URL, "200", 0, 1, 1)), expected(), arrived()).foreign == 1
    assert len(judge(printed(), expected(PAGE), arrived(), cut_short=True).samples) == 1


def test_the_real_internet_is_unverified() -> None:
    due = expectations_unknown(pl.Series([URL, "https://b.example"]))
    judged = judge(printed((URL, "200", 0, 9000, 1)), due, cut_short=True, known=["x"])
    assert judged.samples["verdict"].to_list() == ["unverified", "not_reached"]


URLS = st.sampled_from([URL, "https://b.example", "https://c.example/x,y"])


@given(st.lists(URLS, max_size=12), st.lists(URLS, max_size=12))
def test_lines_and_urls_are_matched_as_multisets(given_urls: list[str], printed_urls: list[str]) -> None:
    due = expected(*[(url, "error", None, None, None, 0) for url in given_urls])
    judged = judge(printed(*[(url, "E", 0, 1, None) for url in printed_urls]), due, cut_short=True)
    for url in {*given_urls, *printed_urls}:
        rows = judged.samples.filter(pl.col("url") == url)
        assert len(rows) == given_urls.count(url)
        assert rows["line"].count() == min(given_urls.count(url), printed_urls.count(url))
    assert judged.foreign == sum(url not in given_urls for url in printed_urls)
    reached = len(judged.samples) - judged.missing
    assert reached + judged.foreign + judged.duplicates == len(printed_urls)


SMALL = st.integers(0, 8)


@given(
    st.lists(st.tuples(st.integers(-1, 2), SMALL, SMALL), max_size=12),
    st.lists(st.tuples(st.integers(0, 2), SMALL, SMALL), max_size=12),
)
def test_seen_within_is_what_comparing_every_pair_gives(
    claims: list[tuple[int, int, int]], requests: list[tuple[int, int, int]]
) -> None:
    begin_end = [(group, begin, begin + length) for group, begin, length in claims]
    at_done = [(group, at, at + DONE_SLACK_NS + extra - 4) for group, at, extra in requests]
    seen = seen_within(
        pl.DataFrame(begin_end, dict.fromkeys(("group", "begin_ns", "end_ns"), pl.Int64), orient="row"),
        pl.DataFrame(at_done, dict.fromkeys(("group", "at_ns", "done_ns"), pl.Int64), orient="row"),
    )
    pairs = [
        any(g == group and begin <= at <= end and done - DONE_SLACK_NS <= end for g, at, done in at_done)
        for group, begin, end in begin_end
    ]
    assert seen.tolist() == pairs
