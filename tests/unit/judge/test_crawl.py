"""The figures of a crawl: the seeds' definitions hold for the table they published."""

import polars as pl
import pytest

from httpdyno.judge.crawl import summarise_crawl
from httpdyno.judge.outcome import Ending
from httpdyno.judge.verdict import VERDICTS
from httpdyno.model import LinesSummary

S, MS = 10**9, 10**6

# language and method: time, okReqsSec, okReqsPct, avgBodyLen, 2xx, 3xx, 4xx, 5xx, Exception (c7g.medium, 10,000 URLs)
PUBLISHED = {
    "Rust reqwest": (49149, 162, 0.8, 256487, 7980, 1, 971, 21, 1027),
    "Deno fetch": (58016, 138, 0.8, 258782, 8007, 1, 952, 25, 1015),
    "Go net/http": (64000, 125, 0.8, 260033, 8004, 1, 970, 21, 1004),
    "Node.js reqwest": (71716, 112, 0.8, 258417, 8000, 1, 964, 22, 1013),
    ".NET HttpClient": (106468, 73, 0.77, 258980, 7739, 279, 977, 24, 981),
    "Ruby async + http.rb": (107077, 74, 0.8, 257226, 7977, 0, 992, 25, 1006),
    "Python aiohttp": (108243, 73, 0.79, 259900, 7943, 0, 979, 27, 1051),
    "Java HttpClient": (172855, 45, 0.79, 238532, 7853, 37, 1010, 24, 1076),
    "Node.js undici request": (192018, 41, 0.79, 254941, 7865, 26, 1003, 23, 1083),
    "Node.js fetch": (209810, 38, 0.79, 259108, 7885, 1, 997, 26, 1091),
}


def samples(
    starts_ms: list[int | None],
    durations_ms: list[int | None],
    statuses: list[int | None],
    lengths: list[int | None] | None = None,
    verdicts: list[str] | None = None,
    precision_ns: int = MS,
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "line": [None if start is None else line for line, start in enumerate(starts_ms, 1)],
            "status": statuses,
            "start_ns": [None if start is None else start * MS for start in starts_ms],
            "duration_ns": [None if duration is None else duration * MS for duration in durations_ms],
            "body_length": lengths or [None] * len(starts_ms),
            "verdict": verdicts or ["right"] * len(starts_ms),
            "precision_ns": [precision_ns] * len(starts_ms),
        },
        schema={
            "line": pl.Int32,
            "status": pl.Int16,
            "start_ns": pl.Int64,
            "duration_ns": pl.Int64,
            "body_length": pl.Int64,
            "verdict": VERDICTS,
            "precision_ns": pl.Int64,
        },
    )


def ended(after_ms: int, kind: str = "exited") -> Ending:
    return Ending(kind, exit_code=0, started_at_ns=0, ended_at_ns=after_ms * MS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_table_follows_from_its_counts(name: str) -> None:
    time_ms, ok_per_s, ok_share, body_length, *counts = PUBLISHED[name]
    classes = [200, 301, 404, 500, None]
    statuses = [status for status, count in zip(classes, counts, strict=True) for _ in range(count)]
    n = len(statuses)
    assert n == 10_000
    lengths = [body_length if status == 200 else 7 for status in statuses]
    summary = summarise_crawl(
        samples([0] * n, [100] * (n - 1) + [time_ms], statuses, lengths),
        ended(time_ms + 50),
        urls_given=n,
        concurrency=150,
    )
    assert summary.time_ns == time_ms * MS
    assert round(summary.ok_per_s or 0) == ok_per_s
    assert round(summary.ok_share or 0, 2) == ok_share
    assert summary.mean_body_length == body_length
    found = [summary.status_2xx, summary.status_3xx, summary.status_4xx, summary.status_5xx, summary.exceptions]
    assert found == counts
    assert summary.max_ns == time_ms * MS
    assert summary.mean_ns == pytest.approx((100 * (n - 1) + time_ms) / n * MS)


def test_nothing_printed_has_no_figures() -> None:
    assert summarise_crawl(samples([], [], []), ended(10), urls_given=5, concurrency=1) == LinesSummary()
    unreached = samples([None], [None], [None], verdicts=["not_reached"])
    assert summarise_crawl(unreached, ended(10, "deadline"), urls_given=1, concurrency=1) == LinesSummary()


def test_right_answers_are_counted_until_the_list_is_exhausted() -> None:
    # One after the other, 100 ms each, ten of them; the last takes 5 s and decides nothing.
    summary = summarise_crawl(
        samples([100 * i for i in range(10)], [100] * 9 + [5000], [200] * 10), ended(6000), urls_given=10, concurrency=1
    )
    assert summary.exhausted_ns == 900 * MS
    assert summary.time_ns == 5900 * MS
    assert summary.right_per_s == pytest.approx(10)


def test_wrong_answers_do_not_count_as_right() -> None:
    summary = summarise_crawl(
        samples(
            [0, 100, 200, 300, 400], [100] * 5, [200] * 5, verdicts=["right", "late", "right", "wrong_time", "right"]
        ),
        ended(600),
        urls_given=5,
        concurrency=1,
    )
    assert summary.right_per_s == pytest.approx(2 / 0.4)


def test_a_list_that_is_short_for_its_concurrency_has_no_rate() -> None:
    seven = samples([0, 1, 2, 3, 4, 5, 6], [1] * 7, [200] * 7)
    assert summarise_crawl(seven, ended(200), urls_given=7, concurrency=2).right_per_s is None
    assert summarise_crawl(seven, ended(200), urls_given=7, concurrency=1).right_per_s == pytest.approx(6 / 0.006)


def test_a_list_that_the_deadline_cut_was_never_exhausted() -> None:
    cut = samples([0, 100, None], [100, 100, None], [200, 200, None], verdicts=["right", "right", "not_reached"])
    summary = summarise_crawl(cut, ended(250, "deadline"), urls_given=4, concurrency=1)
    assert (summary.urls, summary.exhausted_ns) == (2, None)
    assert summary.right_per_s == pytest.approx(2 / 0.2)


@pytest.mark.parametrize(
    ("kind", "deadline_s", "ended_after_ms", "right_per_s"),
    [
        # Two seconds to end are no time to measure in.
        ("deadline", 12.0, 14_000, 2 / 12),
        ("deadline", 12.0, 12_001, 2 / 12),
        ("deadline", 0.15, 250, 2 / 0.2),
        ("interrupted", 12.0, 250, 2 / 0.25),
    ],
)
def test_who_answers_nothing_more_until_the_deadline_is_as_slow_as_that(
    kind: str, deadline_s: float, ended_after_ms: int, right_per_s: float
) -> None:
    cut = samples([0, 100, None], [100, 100, None], [200, 200, None], verdicts=["right", "right", "not_reached"])
    ending = ended(ended_after_ms, kind)
    summary = summarise_crawl(cut, ending, urls_given=4, concurrency=1, deadline_s=deadline_s)
    assert summary.right_per_s == pytest.approx(right_per_s)


def test_coarse_start_times_leave_the_end_to_the_process() -> None:
    coarse = samples([0, 1000], [100, 100], [200, 200], precision_ns=S)
    assert summarise_crawl(coarse, ended(1700), urls_given=2, concurrency=1).time_ns == 1700 * MS


def test_no_claim_reaches_beyond_the_process() -> None:
    summary = summarise_crawl(samples([0], [9000], [200]), ended(500), urls_given=1, concurrency=1)
    assert summary.time_ns == 500 * MS
    before = summarise_crawl(samples([-900], [100], [200]), ended(500), urls_given=1, concurrency=1)
    assert (before.time_ns, before.ok_per_s, before.right_per_s) == (0, None, None)


def test_an_answer_without_a_known_length_has_no_part_in_the_mean() -> None:
    summary = summarise_crawl(
        samples([0, 0, 0], [1, 1, 1], [200, 200, 404], [10, None, 99]), ended(5), urls_given=3, concurrency=1
    )
    assert summary.mean_body_length == 10
    none = summarise_crawl(samples([0], [1], [404], [99]), ended(5), urls_given=1, concurrency=1)
    assert none.mean_body_length is None


def test_where_nobody_knows_what_is_right_nothing_is_counted_as_right() -> None:
    unverified = samples([0, 100, 200, 300], [50] * 4, [200] * 4, verdicts=["unverified"] * 4)
    for kind in ("exited", "deadline"):
        summary = summarise_crawl(unverified, ended(400, kind), urls_given=4, concurrency=1)
        assert (summary.right_per_s, summary.ok_share, summary.status_2xx) == (None, 1.0, 4)
        assert summary.exhausted_ns == 300 * MS
