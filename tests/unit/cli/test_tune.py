"""`tune`, with a stand-in for the engine and a client whose throughput is known."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from doubles.runs import NOON
from guide_pages import OUTPUT, first_cells, section_of
from httpdyno.experiments.crawl.plan import Crawl, found_for
from httpdyno.experiments.tune.present import tune_views
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject
from httpdyno.stats import Standing
from httpdyno.store import Tuned, TunedFor, keep_tuned, open_run
from httpdyno.subjects.catalogue import read_subject

SCALES_UP_TO_SIX = """
import os, sys
from datetime import datetime, timedelta, timezone
slots = min(int(os.environ["CONCURRENCY"]), 6)
lines = [line.strip() for line in sys.stdin]
began = datetime(2026, 11, 21, 10, tzinfo=timezone.utc)
for number, url in enumerate(lines):
    started = began + timedelta(milliseconds=12 * (number // slots))
    print(f"{url},200,{started.isoformat(timespec='microseconds')},12,13")
"""
"""A client in which six requests of 12 ms run side by side, and a seventh waits; the times are only claimed, so that
the test is quick."""


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    make_subject("scales", SCALES_UP_TO_SIX)
    return ["scales", "--subjects", str(subject_folders), "--limit", "60"]


@pytest.fixture
def found(given: list[str], subject_folders: Path, tmp_path: Path) -> Path:
    """Store a concurrency for the client, as a search does; return the file."""
    del given
    cache = tmp_path / "cache" / "httpdyno"
    of = key_of(read_subject(subject_folders / "scales"), cache)
    return keep_tuned(cache, of, Tuned(5, 400.0, NOON, None))


def key_of(subject: Subject, cache: Path, **options: str) -> TunedFor:
    """Return the key of a concurrency that was found with these options."""
    crawl = Crawl(file=cache, web="top-sites", seed=1, web_digest="0" * 32, **options)  # type: ignore[arg-type]
    return found_for(subject, cast(Place, SimpleNamespace(cache=cache, pinning=Pinning())), crawl)


def tuned_file(tmp_path: Path) -> dict[str, Any]:
    (file,) = (tmp_path / "cache" / "httpdyno" / "tuned").iterdir()
    return dict(json.loads(file.read_text()))


def test_the_best_concurrency_is_found_printed_and_kept(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("tune", *given, "--format", "json")

    assert ended.code == 0, ended.err
    (chosen,) = [row for row in ended.rows if row["chosen"]]
    assert chosen["verdict"] == "chosen"
    assert chosen["subject"] == "scales"
    assert (chosen["concurrency"], chosen["right_per_s"]) == (6, 500.0)
    assert [row["concurrency"] for row in ended.rows] == sorted(row["concurrency"] for row in ended.rows)
    assert sum(row["trials"] for row in ended.rows) <= 12
    kept = tuned_file(tmp_path)
    assert kept["found"]["concurrency"] == 6
    assert kept["for"]["subject"] == "scales"
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-tune")
    run = open_run(folder)
    assert run.manifest.state == "complete"
    assert run.manifest.trials_planned == len(run.trials) <= 12
    assert (folder / "report.html").exists()
    assert "saved for this machine; use it with: httpdyno bench scales --concurrency auto" in ended.err


def test_several_clients_are_searched_in_turns_each_up_to_its_best(
    httpdyno: Command, given: list[str], make_subject: MakeSubject, tmp_path: Path
) -> None:
    make_subject("narrow", SCALES_UP_TO_SIX.replace(", 6)", ", 3)"))

    ended = httpdyno("tune", "narrow", *given)

    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.trials_planned <= 24
    trials = run.records()
    assert {trial.subject for trial in trials if trial.block == 0} == {"narrow", "scales"}
    chosen = [line.split()[:3] for line in ended.out.splitlines() if "  chosen " in line]
    assert chosen == [["scales", "6", "chosen"], ["narrow", "3", "chosen"]]
    assert ended.out.startswith("scales: best with 6 in flight: 500.0 right answers a second")
    assert "use it with: httpdyno bench narrow scales --concurrency auto" in ended.err
    kept = [json.loads(file.read_text()) for file in (tmp_path / "cache" / "httpdyno" / "tuned").iterdir()]
    assert {of["for"]["subject"]: of["found"]["concurrency"] for of in kept} == {"scales": 6, "narrow": 3}
    page = (folder / "report.html").read_text()
    assert "at the best number in flight: Python scales 500 with 6; Python narrow 250 with 3" in page


def test_steps_result_and_contention_are_printed(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("tune", *given)

    printed = ended.err.splitlines()
    assert any(re.match(r"httpdyno: at most 12 trials(: about .*)?$", line) for line in printed)
    tried = [line for line in printed if line.startswith("httpdyno: trial ")]
    assert tried[0].startswith(
        "httpdyno: trial 1 of at most 12: scales, 1 in flight (a first trial, far below the usual load): 60 URLs in"
        " 0.7 s, 83.3 right a second"
    )
    assert any("(again, to see how much it varies)" in line for line in tried)
    assert re.search(
        r"^in flight  verdict +right/s +errors  late  .*  limited_by +validity *$", ended.out, re.MULTILINE
    )
    assert ended.out.count("  chosen ") == 1
    assert ended.out.startswith("scales: best with 6 in flight: 500.0 right answers a second (95 %: 500.0 to 500.0)\n")
    assert "\ncontention begins at about 6: " in ended.out


def test_bench_takes_what_was_found_and_runs_reports_and_queries_know_searches(
    httpdyno: Command, given: list[str], tmp_path: Path
) -> None:
    httpdyno("tune", *given)
    kept = tuned_file(tmp_path)["found"]

    assert " tune " in httpdyno("runs").out
    assert "  chosen " in httpdyno("report", "latest").out
    counted = httpdyno("query", "select count(*) as n from trials where experiment = 'tune'", "--format", "json")
    assert counted.rows[0]["n"] >= 5

    ended = httpdyno("bench", *given, "--concurrency", "auto", "--repeat", "1", "--format", "json")

    assert ended.code == 0, ended.err
    assert f"httpdyno: scales: 6 in flight, as found on {kept['found_at'][:10]}" in ended.err
    (row,) = ended.rows
    assert row["concurrency"] == kept["concurrency"] == 6


def test_what_was_not_tuned_is_measured_with_its_own_and_that_is_said(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONCURRENCY", "auto")

    ended = httpdyno("bench", *given, "--repeat", "1", "--format", "json")

    assert ended.code == 0, ended.err
    assert ended.rows[0]["concurrency"] == 1
    assert (
        "httpdyno: scales: not tuned on this machine for this web: its own concurrency, 1, is used;"
        " httpdyno tune scales would find the best\n"
    ) in ended.err


def test_what_was_found_over_a_link_is_for_that_link(
    httpdyno: Command, given: list[str], subject_folders: Path, tmp_path: Path
) -> None:
    subject = read_subject(subject_folders / "scales")
    cache = tmp_path / "cache" / "httpdyno"
    of = key_of(subject, cache, link="rtt=40ms")
    keep_tuned(cache, of, Tuned(5, 400.0, NOON, None))
    used = httpdyno("bench", *given, "--link", "delay=20ms", "--concurrency", "auto", "--repeat", "1")
    assert "scales: 5 in flight, as found on" in used.err
    other = httpdyno("bench", *given, "--link", "lan", "--concurrency", "auto", "--repeat", "1")
    assert "tune scales --link rtt=300us,rate=1gbit,queue=10ms would find the best" in other.err


def test_what_was_found_for_a_version_of_http_is_for_that_version(
    httpdyno: Command, given: list[str], subject_folders: Path, tmp_path: Path
) -> None:
    subject = read_subject(subject_folders / "scales")
    cache = tmp_path / "cache" / "httpdyno"
    of = key_of(subject, cache, http_version="2")
    keep_tuned(cache, of, Tuned(5, 400.0, NOON, None))
    auto = ("--concurrency", "auto", "--repeat", "1")
    assert "scales: 5 in flight, as found on" in httpdyno("bench", *given, "--http-version", "2", *auto).err
    other = httpdyno("bench", *given, "--http-version", "1.1", *auto).err
    assert "httpdyno tune scales --http-version 1.1 would find the best" in other


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (["--memory", "512MiB"], "not tuned on this machine for this web"),
        (["--link", "lan"], "not tuned on this machine for this web"),
        (["--link", "rtt=0"], None),
        (["--web", "plain"], "not tuned on this machine for this web"),
        (["--cpus", "{cpu}"], "not tuned on this machine for this web"),
        (["--seed", "9"], None),
    ],
)
@pytest.mark.usefixtures("found")
def test_it_was_found_for_a_machine_and_a_web(
    httpdyno: Command, given: list[str], changed: list[str], reason: str | None
) -> None:
    # Which CPUs there are differs between processes of tests that run side by side.
    changed = [word.format(cpu=min(os.sched_getaffinity(0))) for word in changed]
    ended = httpdyno("bench", *given, *changed, "--concurrency", "auto", "--repeat", "1")

    assert ended.code == 0, ended.err
    assert ("its own concurrency" in ended.err) is (reason is not None)
    assert reason is None or reason in ended.err


@pytest.mark.usefixtures("found")
def test_a_subject_that_has_changed_is_to_be_tuned_again(
    httpdyno: Command, given: list[str], subject_folders: Path
) -> None:
    (subject_folders / "scales" / "more.py").write_text("# more")

    ended = httpdyno("try", *given, "--concurrency", "auto", "--format", "json")

    assert ended.code == 0, ended.err
    changed = "scales: its files, or the programs that build it, have changed since it was tuned"
    assert f"{changed}: its own concurrency, 1, is used" in ended.err


def test_what_cannot_be_read_is_as_if_it_were_not_there(httpdyno: Command, given: list[str], found: Path) -> None:
    found.write_text("{")

    ended = httpdyno("bench", *given, "--concurrency", "auto", "--repeat", "1")

    assert ended.code == 0, ended.err
    assert "scales: the earlier result cannot be read: its own concurrency, 1, is used" in ended.err


@pytest.mark.parametrize("value", ["0", "-3", "1.5", "many", "AUTO", "1e3", "٣", "9" * 5000, "1000001"])
def test_a_concurrency_that_is_none_is_one_clear_line(httpdyno: Command, given: list[str], value: str) -> None:
    ended = httpdyno("bench", *given, f"--concurrency={value}")

    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert re.fullmatch(
        r"httpdyno: --concurrency: '.{1,40}' is not understood; give a number from 1 to 1,000,000, or auto", line
    )


def test_a_bench_goes_on_with_the_concurrency_that_it_was_begun_with(
    httpdyno: Command, given: list[str], found: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(2, tmp_path, monkeypatch)
    assert httpdyno("bench", *given, "--concurrency", "auto", "--repeat", "3").code == 3
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")
    kept = json.loads(found.read_text())
    kept["found"]["concurrency"] = 2
    found.write_text(json.dumps(kept))

    ended = httpdyno("bench", "--resume", "latest")

    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").glob("*-bench")
    run = open_run(folder)
    assert [trial.concurrency for trial in run.records()] == [5, 5, 5]
    assert run.manifest.subjects[0].concurrency == 5


def stop_after(rooms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine fail after so many trials."""
    folder = tmp_path / "rooms"
    folder.mkdir(exist_ok=True)
    for number in range(rooms):
        (folder / str(number)).touch()
    monkeypatch.setenv("FAKE_ENGINE_ROOMS", str(folder))


@pytest.mark.parametrize("trials", [0, 4])
def test_a_search_goes_on_where_it_stopped(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trials: int
) -> None:
    stop_after(trials, tmp_path, monkeypatch)
    stopped = httpdyno("tune", *given)
    assert stopped.code == 3
    assert "(partial); continue with: httpdyno tune --resume runs/" in stopped.err
    assert not (tmp_path / "cache" / "httpdyno" / "tuned").exists()
    (folder,) = (tmp_path / "runs").iterdir()
    before = open_run(folder).records()
    assert len(before) == trials
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")

    ended = httpdyno("tune", "--resume", "latest", "--format", "json")

    assert ended.code == 0, ended.err
    run = open_run(folder)
    assert run.records()[:trials] == before
    assert [trial.trial for trial in run.records()] == list(range(len(run.trials)))
    assert [row["concurrency"] for row in ended.rows if row["chosen"]] == [6]
    assert tuned_file(tmp_path)["found"]["concurrency"] == 6


def test_a_search_that_does_not_follow_from_its_trials_is_not_resumed(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(2, tmp_path, monkeypatch)
    httpdyno("tune", *given)
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")
    (folder,) = (tmp_path / "runs").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["subjects"][0]["concurrency"] = 700
    (folder / "manifest.json").write_text(json.dumps(manifest))

    ended = httpdyno("tune", "--resume", "latest")

    assert ended.code == 2
    assert "trial 1 does not match the plan of its settings; begin a new run" in ended.err


def test_a_run_is_resumed_by_its_own_verb(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(2, tmp_path, monkeypatch)
    httpdyno("tune", *given)
    (folder,) = (tmp_path / "runs").iterdir()

    ended = httpdyno("bench", "--resume", "latest")

    assert ended.code == 2
    name = f"runs/{folder.name}"
    assert ended.err == f"httpdyno: {name} is a run of tune; continue with: httpdyno tune --resume {name}\n"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "tune: name a SUBJECT, such as go-net-http"),
        (["nobody"], "'nobody': there is no such client"),
        (
            ["scales", "--web", "live"],
            "tune conflicts with --web live: a search would overload the real internet; choose another web",
        ),
        (["scales", "--timeout", "soon"], "--timeout: 'soon'"),
        (["scales", "--duration", "0"], "--duration: 0 is not a duration; write it like 10m"),
        (["scales", "--urls", "nowhere"], "nowhere: cannot be read"),
        (["scales", "--resume", "latest"], "--resume: a SUBJECT cannot change when a run is resumed"),
    ],
)
def test_what_cannot_be_searched_is_one_clear_line(
    httpdyno: Command, given: list[str], options: list[str], line: str
) -> None:
    ended = httpdyno("tune", *options, *given[1:3])

    assert ended.code == 2
    assert line in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_subject_that_is_not_available_has_no_best(
    httpdyno: Command, given: list[str], make_subject: MakeSubject
) -> None:
    make_subject("lacks", needs='no-such-program-here = ">=1"')

    ended = httpdyno("tune", "lacks", *given[1:])

    assert ended.code == 3
    assert "no-such-program-here" in ended.err
    assert "works at no concurrency" in ended.out
    assert "kept" not in ended.err


def test_what_crashes_at_every_concurrency_has_no_best(
    httpdyno: Command, given: list[str], make_subject: MakeSubject, tmp_path: Path
) -> None:
    make_subject("crashes", "raise SystemExit(7)")

    ended = httpdyno("tune", "crashes", *given[1:], "--format", "json")

    assert {row["verdict"] for row in ended.rows} == {"crashed"}
    assert ended.code == 3
    assert not (tmp_path / "cache" / "httpdyno" / "tuned").exists()


def test_the_list_is_as_long_as_a_fast_client_needs(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "list").write_text("".join(f"h{number}.example\n" for number in range(70)))

    ended = httpdyno("tune", *given[:3], "--urls", "list", "--timeout", "1")

    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    trials = open_run(folder).records()
    assert {trial.urls_given for trial in trials} == {70}
    assert open_run(folder).manifest.settings["deadline_s"] == 4


def test_an_unavailable_subject_can_be_listed_with_tuned_ones(
    httpdyno: Command, given: list[str], make_subject: MakeSubject
) -> None:
    make_subject("lacks", needs='no-such-program-here = ">=1"')

    ended = httpdyno("bench", "lacks", *given, "--concurrency", "auto", "--repeat", "1", "--format", "json")

    assert ended.code == 0, ended.err
    assert {row["subject"]: row["concurrency"] for row in ended.rows} == {"lacks": 1, "scales": 1}


def test_the_guide_names_columns_and_verdicts_as_the_table_does() -> None:
    named = {name for row in first_cells(OUTPUT, "tune") for name in row}

    (table,) = tune_views([], {})
    assert named >= {"right/s", "verdict", "validity"}
    assert named <= {column.name for column in table.columns}
    for standing in set(Standing) - {Standing.FAILED}:
        assert f"\n| {standing.value} | " in section_of(OUTPUT, "tune")


def test_a_quick_look_is_labelled_and_not_kept(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("tune", *given, "--quick")
    assert ended.code == 0
    assert ended.out.startswith("A quick look, with few and short trials: scales: best with ")
    assert (
        "httpdyno: the result of a quick look is not saved for --concurrency auto; for that: httpdyno tune scales\n"
        in ended.err
    )
    assert not (tmp_path / "cache" / "httpdyno" / "tuned").exists()
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert len(run.trials) <= 6
    assert (run.manifest.settings["quick"], run.manifest.settings["deadline_s"]) == (True, 7.0)
    assert httpdyno("report", "latest").out.startswith("A quick look, ")


def test_the_answer_stands_first(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("tune", *given)
    first, *others = ended.out.splitlines()
    assert first.startswith("scales: best with ")
    assert not any("best with " in line for line in others)
    plain = httpdyno("report", "latest", "--format", "plain").out
    assert plain.count("best with ") == 1
