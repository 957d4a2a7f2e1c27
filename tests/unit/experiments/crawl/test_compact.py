"""The table of a crawl that fits a terminal: what it says, how wide it is, and what it leaves out on a narrow one."""

from dataclasses import replace

import pytest

from doubles.trials import trial
from httpdyno.errors import UnknownName
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.judge.validity import with_validity
from httpdyno.model import Counters, CpuTime, LinesSummary, Outcome, Tally, Trial, Validity
from httpdyno.report import Surface, render
from httpdyno.runs.showing import check_columns, tables_of

MS, S = 10**6, 10**9
BENCH = definition_of("bench")
RUST = ("rust-reqwest", "Node.js", "reqwest (Rust) x", 200.0, 1.25)
GO = ("go-net-http", "Go", "net/http", 60.4, 2.0)


def crawls(
    subject: str, language: str, method: str, per_s: float, cpu_ms: float, *, repeat: int = 3, **others: object
) -> list[Trial]:
    """Make some trials of a client whose rate differs by a percent to both sides."""
    return [
        replace(
            trial(
                subject,
                block,
                language=language,
                method=method,
                summary=LinesSummary(
                    urls=1000,
                    mean_ns=640.0 * MS,
                    p50_ns=496.0 * MS,
                    p99_ns=4005.0 * MS,
                    right_per_s=per_s * (1 + 0.01 * (block % 3 - 1)),
                    cpu_per_right_ns=cpu_ms * MS,
                    planned_mean_ns=600.0 * MS,
                ),
                tally=Tally(right=1000),
                concurrency=50,
            ),
            counters=Counters(wall_ns=10 * S, peak_memory_bytes=64 * 2**20),
            **others,  # type: ignore[arg-type]
        )
        for block in range(repeat)
    ]


def shown(trials: list[Trial], columns: str | None = None, *, width: int | None = None) -> str:
    return "\n".join(
        render(table, "table", Surface(width=width)) for table in tables_of(BENCH, trials, {}, "table", columns)
    )


def test_it_says_who_is_first_what_an_answer_costs_and_what_a_core_makes_of_it() -> None:
    answer, heading, _, first, second, *notes = shown([*crawls(*RUST), *crawls(*GO)]).splitlines()
    assert "share the lead" in answer
    fewest = "Node.js reqwest (Rust) x, 1.25 ms of CPU time a right answer, 0.62 times Go net/http, not for sure"
    assert answer.endswith(f". Fewest cores: {fewest}")
    assert heading.split("  ")[0] == "rank"
    assert " ".join(first.split()) == "1-2 Node.js reqwest (Rust) x 200 ±1% 1.25 800 50 of 480 496 4005 64 0 VALID"
    assert " ".join(second.split()) == "1-2 Go net/http 60.4 ±1% 2 500 50 of 300 496 4005 64 0 VALID"
    assert any(note.startswith("±: the lowest and the highest of so few trials") for note in notes)
    assert not any("right_per_s_low" in note for note in notes)


def test_a_rate_that_the_origin_held_up_is_a_lower_bound() -> None:
    text = shown(crawls(*GO, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy"))
    assert " ≥60.4 " in text
    assert "≥: the origin set the pace, so the client may be faster" in text
    assert "~:" not in text


def test_the_headline_and_the_table_round_a_figure_alike() -> None:
    trials = [*crawls(*RUST[:4], 2.0546), *crawls(*GO[:4], 3.0)]
    answer, _, _, *rows = shown(trials).splitlines()
    assert "2.06 ms of CPU time" in answer
    assert "  2.06  " in next(row for row in rows if "reqwest" in row)


def test_what_disturbed_a_row_is_told_in_one_line_and_of_each_where_all_is_shown() -> None:
    busy = Counters(
        wall_ns=10 * S, cpu_user_ns=4 * S, cpu_system_ns=0, cpus=(CpuTime(1, "subject", 9 * S, 0, 10 * S, 0),)
    )
    trials = [with_validity(replace(one, counters=busy)) for one in [*crawls(*RUST), *crawls(*GO)]]
    text = shown(trials)
    assert "~1" in text
    assert "UNSTEADY:" not in text
    assert "~: --columns all and the report say which rule each of them broke, and by how much" in text
    assert "Disturbed by other programs: Node.js reqwest (Rust) x and Go net/http share the lead" in text
    assert "\u2265:" not in text
    assert "go-net-http Go: UNSTEADY: other programs used 50 % of the subject's CPU time" in shown(trials, "all")


def test_it_is_said_where_the_requests_in_flight_set_the_rate() -> None:
    text = shown([*crawls("go-other", "Go", "other", 83.0, 2.0), *crawls(*GO)])
    assert "right/s: in 1 of 2 rows the requests in flight set it" in text
    # Whoever was not there has no rate, and is none of them.
    failed = {"outcome": Outcome.UNAVAILABLE, "validity": None, "summary": None, "tally": None}
    text = shown([*crawls("go-other", "Go", "other", 83.0, 2.0), *crawls(*GO), trial("absent", 0, **failed)])
    assert "right/s: in 1 of 2 rows the requests in flight set it" in text


@pytest.mark.parametrize("width", [None, 100, 120])
def test_it_fits_into_100_columns_whatever_the_verdict(width: int | None) -> None:
    text = shown(crawls(*RUST, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy"), width=width)
    table, notes = text.split("\n\n")
    assert max(map(len, table.splitlines()[1:])) <= (width or 100)
    assert ("left out, for want of width: MiB" in notes) == (width != 120)


def test_on_80_columns_what_can_be_spared_is_left_out_from_the_right_and_named() -> None:
    text = shown([*crawls(*RUST), *crawls(*GO)], width=80)
    table, notes = text.split("\n\n")
    lines = table.splitlines()
    assert max(map(len, [*lines, *notes.splitlines()])) <= 80
    names = next(line for line in lines if line.startswith("rank")).split("  ")
    assert [name for name in names if name][-2:] == ["wrong", "verdict"]
    assert notes.splitlines()[-1] == "left out, for want of width: in flight, p50, p99, MiB"


def test_the_columns_of_the_publication_all_or_some_can_be_asked_for() -> None:
    trials = crawls(*GO)
    heading = shown(trials, "published").splitlines()[0]
    assert heading.split() == list(BENCH.published_columns)
    assert shown(trials, "all").splitlines()[0].split() == [column.name for column in BENCH.table(trials).columns]
    assert shown(trials, "subject, http2,right_per_core_s").splitlines()[0].split() == [
        "subject",
        "http2",
        "right_per_core_s",
    ]


def test_programs_get_all_columns_whatever_people_asked_for() -> None:
    (table,) = tables_of(BENCH, crawls(*GO), {}, "json", "subject")
    assert table == BENCH.table(crawls(*GO))


@pytest.mark.parametrize("name", experiment_names())
def test_columns_are_known_before_anything_is_measured(name: str) -> None:
    definition = definition_of(name)
    check_columns(definition, "all")
    with pytest.raises(UnknownName, match="--columns: there is no column 'nosuch'; known are: "):
        check_columns(definition, "nosuch")
    with pytest.raises(UnknownName, match="--columns: none is named; known are: "):
        check_columns(definition, " , ")
