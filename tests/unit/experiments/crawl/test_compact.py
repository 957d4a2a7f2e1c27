"""The table of a crawl that fits a terminal: its content, its width, and the columns hidden on a narrow one."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.errors import UnknownName
from httpdyno.experiments.crawl.present import LINE
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.judge.validity import RULES, with_validity
from httpdyno.model import (
    Counters,
    CpuTime,
    ExplainedCase,
    LinesSummary,
    Outcome,
    ProgramUse,
    Tally,
    Trial,
    Validity,
)
from httpdyno.report.formats import Surface, render
from httpdyno.runs.showing import check_columns, shown_tables, tables_of
from httpdyno.store import open_run

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


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of the rows below the line under the headings."""
    table = text.split("\n\n")[0].splitlines()
    line = next(place for place, of in enumerate(table) if of.startswith("\u2500"))
    return [re.split(r" {2,}", row.strip()) for row in table[line + 1 :]]


def test_it_answers_in_two_lines_and_gives_each_client_a_row() -> None:
    cheapest, fastest, heading, _, *rest = shown([*crawls(*RUST), *crawls(*GO)]).splitlines()
    assert cheapest.startswith("Cheapest: Node.js reqwest")
    assert "60 % more" in cheapest
    assert max(len(cheapest), len(fastest)) <= LINE
    assert fastest.startswith("Fastest here: Node.js reqwest")
    assert re.split(r" {2,}", heading) == [
        *("rank", "client", "per core/s", "CPU ms", "right/s", "in flight", "needed", "MiB", "HTTP/2", "wrong")
    ]
    assert rest[0].split() == [
        "1",
        "Node.js",
        "reqwest",
        "(Rust)",
        "x",
        "800",
        "1.25",
        "200",
        "±1",
        "%",
        "50",
        "480",
        "64",
        "0",
    ]
    assert rest[1].split() == ["2?", "Go", "net/http", "500", "2", "60.4", "±1", "%", "50", "300", "64", "0"]
    assert "? the difference from the row above may be chance" in rest


def test_the_figure_that_ranks_is_the_first_of_the_answer_and_orders_the_rows() -> None:
    thrifty, fast = crawls("thrifty", "C", "thrifty", 50.0, 1.0), crawls("fast", "C", "fast", 90.0, 3.0)
    for settings, words in (
        ({}, ["Cheapest: C thrifty", "Fastest here: C fast"]),
        ({"saturate": True}, ["Fastest here: C fast", "Cheapest: C thrifty"]),
        ({"preset": "crawl"}, ["Fastest here: C fast", "Cheapest: C thrifty"]),
        ({"rank_by": "p99_ms"}, ["First by p99 ms: C fast", "Cheapest: C thrifty"]),
        ({"rank_by": "peakMemory"}, ["First by memory: C fast", "Cheapest: C thrifty"]),
    ):
        (table,) = tables_of(BENCH, [*thrifty, *fast], settings, "table")
        lines = table.title.splitlines()
        assert [line.partition(",")[0] for line in lines] == words
        assert str(table.rows[0][1]) == words[0].partition(": ")[2]


def test_a_rate_that_the_origin_held_up_is_a_lower_bound() -> None:
    text = shown(crawls(*GO, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy"))
    assert " \u226560.4 " in text
    assert "\u2265 limited by the origin: the client may be faster" in text
    assert "~" not in text


def test_the_answer_and_the_table_round_a_figure_alike() -> None:
    trials = [*crawls("a", "C", "a", 200.0, 1.2345), *crawls("b", "C", "b", 150.06, 3.0)]
    (table,) = tables_of(BENCH, trials, {"saturate": True}, "table")
    fastest, cheapest = table.title.splitlines()
    assert "C a, 200 right" in fastest
    assert re.search("C a, 810 (right answers )?per core", cheapest)
    assert table.values("right_per_core_s") == (810.0, 333.3)
    assert [str(rate).split()[0] for rate in table.values("right_per_s")] == ["200", "150"]


def test_a_disturbed_row_is_provisional_and_one_note_names_the_cause() -> None:
    busy = Counters(
        wall_ns=10 * S, cpu_user_ns=4 * S, cpu_system_ns=0, cpus=(CpuTime(1, "subject", 9 * S, 0, 10 * S, 0),)
    )
    by = (ProgramUse("bash", 4 * S), ProgramUse("idle-thing", S // 1000))
    trials = [
        with_validity(replace(one, counters=busy, other_programs=by), RULES) for one in [*crawls(*RUST), *crawls(*GO)]
    ]
    (table,) = tables_of(BENCH, trials, {}, "table")
    assert table.values("rank") == ("1~", "2~")
    # The mark stands for the verdict.
    assert table.values("verdict") == (None, None)
    assert all("provisional" in line for line in table.title.splitlines())
    (note,) = (note.text for note in table.notes if note.text.startswith("~"))
    assert note.startswith("~ provisional: bash disturbed 3 of 3 trials of ")
    assert "idle-thing" not in note
    assert "go-net-http Go: DISTURBED: bash used 50 % of the subject's CPU time" in shown(trials, "all")


def test_the_note_names_the_hypervisor_and_as_many_clients_as_fit() -> None:
    stolen = Counters(
        wall_ns=10 * S, cpu_user_ns=4 * S, cpu_system_ns=0, cpus=(CpuTime(1, "subject", 4 * S, S, 10 * S, 0),)
    )
    clients = [(f"client-{number}", "Node.js", f"client number {number}") for number in range(6)]
    trials = [
        with_validity(replace(one, counters=stolen), RULES) for client in clients for one in crawls(*client, 80.0, 2.0)
    ]
    (table,) = tables_of(BENCH, trials, {}, "table")
    (note,) = (note.text for note in table.notes if note.text.startswith("~"))
    assert note.startswith(
        "~ provisional: the hypervisor disturbed 3 of 3 trials of Node.js client number 0 and of 5 more"
    )
    assert len(note) <= LINE


def test_the_rows_in_which_the_requests_in_flight_set_the_rate_are_counted() -> None:
    trials = [*crawls("go-other", "Go", "other", 83.0, 2.0), *crawls(*GO)]
    assert "right/s is limited by concurrency in 1 of 2 rows" in shown(trials)
    # A missing client has no rate, and is not one of them.
    failed = {"outcome": Outcome.UNAVAILABLE, "validity": None, "summary": None, "tally": None}
    assert "right/s is limited by concurrency in 1 of 2 rows" in shown([*trials, trial("absent", 0, **failed)])


def test_a_client_that_is_not_installed_has_its_reason_across_the_row() -> None:
    failed = {"outcome": Outcome.UNAVAILABLE, "validity": None, "summary": None, "tally": None}
    lacking = trial("absent", 0, reason="needs zig, found none", install_command="apt-get install zig", **failed)
    text = shown([*crawls(*GO), lacking])
    assert rows_of(text)[-1] == ["C absent", "not installed"]
    assert "verdict" not in text
    assert "C absent: install it with apt-get install zig" in text
    manual = replace(lacking, install_command=None, install_by_hand="the SDK of https://zig.example")
    assert "C absent: install the SDK of https://zig.example" in shown([manual])
    # A record of an older version has the sentence alone.
    older = replace(lacking, install_command=None, reason="absent: needs zig, found none; install it with: apt")
    assert "C absent: absent: needs zig, found none; install it with: apt" in shown([older])


@pytest.mark.parametrize("width", [None, 100, 120])
def test_it_fits_into_100_columns_whatever_the_verdict(width: int | None) -> None:
    text = shown(crawls(*RUST, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy"), width=width)
    table, notes = text.split("\n\n")
    assert max(map(len, table.splitlines()[1:])) <= (width or 100)
    assert ("hidden (terminal too narrow): " in notes) == (width != 120)


def test_on_80_columns_what_can_be_spared_is_left_out_from_the_right_and_named() -> None:
    text = shown([*crawls(*RUST), *crawls(*GO)], width=80)
    table, notes = text.split("\n\n")
    lines = table.splitlines()
    assert max(map(len, [*lines, *notes.splitlines()])) <= 80
    names = next(line for line in lines if line.startswith("rank")).split("  ")
    assert [name for name in names if name][-2:] == ["in flight", "wrong"]
    assert notes.splitlines()[-1] == "hidden (terminal too narrow): needed, MiB, HTTP/2"


LONG = ("a process for each request (unusual)", "requests-futures with a long name (threads)", "urllib (executor)")
SDK = "the SDK of https://dotnet.example/download/of/a/long/path, which is to be in PATH or in DOTNET_ROOT"


def worst_case() -> list[Trial]:
    """Make a run of eleven clients with all kinds of trouble: names, disturbance, failures, absence, few blocks."""
    busy = Counters(
        wall_ns=10 * S,
        cpu_user_ns=4 * S,
        cpu_system_ns=0,
        peak_memory_bytes=1234 * 2**20,
        cpus=(CpuTime(1, "subject", 9 * S, 0, 10 * S, 0),),
    )
    by = (ProgramUse("a-program-with-a-long-name", 4 * S), ProgramUse("another-one-with-a-name", 3 * S))
    trials: list[Trial] = []
    for number in range(9):
        own = crawls(
            f"client-{number}", "Python", f"{LONG[number % 3]} {number}", 1234.0 + 0.3 * number, 0.1234 + number
        )
        if number in {0, 1, 4}:
            disturbed = [with_validity(replace(one, counters=busy, other_programs=by), RULES) for one in own[1:]]
            again = [replace(one, block=one.block + 3 + number) for one in own[1:]]
            own = [own[0], *disturbed, *again]
        if number == 2:
            case = ExplainedCase("stall_tls", "hangs", "https://i.example", 12)
            own = [replace(one, tally=Tally(right=988, late=12, explained=12, explained_cases=(case,))) for one in own]
        if number == 3:
            own = [replace(one, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy") for one in own]
        if number == 5:
            wrong = {"validity": Validity.INCORRECT, "validity_reason": "9 of 10 answers are wrong " * 9}
            own = [replace(one, tally=Tally(right=100, late=900), **wrong) for one in own]
        trials += own
    failed: dict[str, Any] = {"validity": None, "summary": None, "tally": None, "language": "Python"}
    trials += crawls("crashing", "Python", f"{LONG[1]} c", 50.0, 9.0)[:1]
    trials.append(
        trial("crashing", 1, outcome=Outcome.CRASHED, reason="killed by SIGSEGV " * 9, method=f"{LONG[1]} c", **failed)
    )
    failed |= {"outcome": Outcome.UNAVAILABLE, "reason": f"needs dotnet >= 10, found none; install {SDK}"}
    trials.append(trial("dotnet", 0, install_by_hand=SDK, method=LONG[0], **failed))
    return trials


@pytest.mark.parametrize("settings", [{}, {"saturate": True}, {"quick": True, "repeat": 1}])
@pytest.mark.parametrize("width", [None, 100])
def test_the_worst_run_of_eleven_clients_has_21_lines_of_at_most_100_columns(
    settings: dict[str, Any], width: int | None, tmp_path: Path
) -> None:
    trials = worst_case()
    assert len({one.subject for one in trials}) == 11
    run = open_run(make_run(tmp_path, trials, settings=settings, trials_planned=len(trials) + 3))
    (table,) = shown_tables(run, "table")
    lines = render(table, "table", Surface(width=width)).splitlines()
    assert max(map(len, lines)) <= 100, max(lines, key=len)
    first, second, heading, under, *rest = lines
    assert {first.partition(": ")[0], second.partition(": ")[0]} == {"Cheapest", "Fastest here"}
    assert heading.startswith("rank")
    assert under.startswith("\u2500")
    assert rest[11] == ""
    assert len(rest[12:]) <= 5
    assert all(rest[12:])
    # The path of the page is the 22nd.
    assert len(lines) <= 21
    assert rest[-2].endswith("more notes: --verbose") or rest[-1].endswith("more notes: --verbose")
    every = shown_tables(run, "table", verbose=True)[0].notes
    assert len(every) > 5
    assert any("killed by SIGSEGV" in note.text for note in every)


def test_all_or_some_columns_of_the_publication_can_be_chosen() -> None:
    trials = crawls(*GO)
    heading = shown(trials, "published").splitlines()[0]
    assert heading.split() == list(BENCH.presentation.published_columns)
    headings = [column.heading for column in BENCH.presentation.table(trials).columns]
    assert re.split(r" {2,}", shown(trials, "all").splitlines()[0].strip()) == headings
    # By their former names, too.
    for names in ("subject, http2_share,right_per_core_s", "subject,http2,perCore"):
        (table,) = tables_of(BENCH, trials, {}, "table", names)
        assert [column.name for column in table.columns] == ["subject", "http2_share", "right_per_core_s"]


def test_programs_get_all_columns() -> None:
    (table,) = tables_of(BENCH, crawls(*GO), {}, "json", "subject")
    assert table == BENCH.presentation.table(crawls(*GO))


@pytest.mark.parametrize("name", experiment_names())
def test_columns_are_known_before_anything_is_measured(name: str) -> None:
    definition = definition_of(name)
    check_columns(definition, "all")
    with pytest.raises(UnknownName, match="--columns: there is no column 'nosuch'; choose from: "):
        check_columns(definition, "nosuch")
    with pytest.raises(UnknownName, match="--columns: the value is empty; choose from: "):
        check_columns(definition, " , ")
