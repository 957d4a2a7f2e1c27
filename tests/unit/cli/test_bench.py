"""`bench`: from its options to its rows, the run that it keeps and its exit status."""

import json
import os
import re
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.store import open_run


def engine_calls(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_a_bench_prints_a_row_a_subject_and_keeps_the_run(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--limit", "5", "--repeat", "2", "--format", "json")
    assert ended.code == 0
    (row,) = ended.rows
    assert (row["subject"], row["language"], row["concurrency"], row["totalUrls"], row["2xx"]) == (
        "good",
        "Python",
        1,
        5,
        5,
    )
    assert (row["wrong"], row["verdict"]) == (0, "VALID")
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.state == "complete"
    assert len(run.trials) == 2
    assert run.samples().collect().height == 10
    assert str(folder.relative_to(tmp_path)) in ended.err
    # Not a terminal: one line a trial, nothing drawn.
    assert ended.err.count("trial ") == 2
    assert "deadline" not in httpdyno("bench", *given, "--quick", "--duration", "1m").err
    assert "\x1b" not in ended.out + ended.err


def test_options_reach_the_engine_and_the_client(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("DURATION", "90")
    monkeypatch.setenv("REQUEST_TIMEOUT", "2.5")
    monkeypatch.setenv("USER_AGENT", "from-environment")
    monkeypatch.setenv("CONCURRENCY", "7")
    monkeypatch.setenv("LIMIT", "28")
    # Which CPUs there are differs between processes of tests that run side by side.
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    ended = httpdyno(
        "bench", *given, "--user-agent", "from-option", "--web", "plain", "--seed", "9", "--cpus", f"{last}:{first}",
        "--memory", "512MiB", "--link", "lan,loss=0.1%", "--link-seed", "3", "--repeat", "1", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0
    assert ended.rows[0]["totalUrls"] == 28
    assert ended.rows[0]["concurrency"] == 7
    # The fetcher first measures the ceiling of the web, over the same link.
    ceiling, room = [call for call in engine_calls(tmp_path / "log") if call[0] == "room"]
    link = "--link rtt=300us,rate=1gbit,queue=10ms,loss=0.1% --link-seed 3"
    assert link in " ".join(ceiling)
    said = " ".join(room)
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert (run.manifest.settings["link"], run.manifest.settings["link_seed"]) == (link.split()[1], 3)
    assert {trial.link for trial in run.records()} == {link.split()[1]}
    for part in (
        f"--web plain --seed 9 --timeout 2.5 --deadline 90s {link} "
        f"--subject-cpus {last} --engine-cpus {first} --memory 536870912",
        "--env CONCURRENCY=7",
        "--env REQUEST_TIMEOUT=2.5",
        "--env USER_AGENT=from-option",
        "--env KEEPALIVE=1",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("options", "urls", "blocks"),
    [
        (["--limit", "4"], 4, 9),
        ([], 600, 9),
        (["--repeat", "2"], 600, 2),
        (["--urls", "list"], 5, 9),
    ],
)
def test_a_bench_has_as_many_blocks_as_its_budget_has_room_for(
    httpdyno: Command, given: list[str], tmp_path: Path, options: list[str], urls: int, blocks: int
) -> None:
    (tmp_path / "list").write_text("".join(f"host{number}.example\n" for number in range(5)))
    assert httpdyno("bench", *given, *options).code in {0, 1}
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert [trial.block for trial in run.records()] == list(range(blocks))
    assert {trial.urls_given for trial in run.records()} == {urls}
    assert (run.manifest.settings["repeat"], run.manifest.settings["quick"]) == (blocks, False)


def test_a_first_look_is_short_and_labelled(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--quick")
    assert "a first look (--quick): each subject ran once; differences may be chance" in ended.out
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["quick"] is True
    (trial,) = run.records()
    assert trial.urls_given == 500
    # 500 URLs of 1 ms: three times the slowest client's own time, and half a minute.
    assert "httpdyno: --quick: trials end after 50 s; --duration sets another time\n" in ended.err
    assert run.manifest.settings["deadline_s"] == 50
    ended = httpdyno("bench", *given, "--quick", "--repeat", "2", "--limit", "4", "--format", "json")
    assert ended.rows[0]["totalUrls"] == 4
    assert ended.err.count("trial ") == 2


def test_the_largest_seed_is_recorded(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--limit", "4", "--seed", str(2**64 - 1))
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert open_run(folder).records()[0].seed == 2**64 - 1


def test_a_list_of_domains_is_crawled(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a.example\nhttp://b.example/\nnot a url\nc.example\n", encoding="utf-8")
    ended = httpdyno("bench", *given, "--urls", "list", "--format", "json")
    assert ended.rows[0]["totalUrls"] == 4
    (folder,) = (tmp_path / "runs").iterdir()
    urls = set(open_run(folder).samples().collect()["url"])
    assert urls == {"https://a.example", "http://b.example/", "not a url", "https://c.example"}


def test_subjects_that_cannot_run_keep_their_row(
    httpdyno: Command, given: list[str], make_subject: MakeSubject
) -> None:
    make_subject("needy", needs='no-such-program = "*"')
    make_subject("unbuildable", more='[build]\nargv = ["sh", "-c", "echo the reason >&2; exit 1"]')
    make_subject("crashing", program="import os; os.abort()")
    ended = httpdyno("bench", *given, "needy", "unbuildable", "crashing", "--format", "json", "--limit", "4")
    assert ended.code == 0
    verdicts = {row["subject"]: row["verdict"] for row in ended.rows}
    assert verdicts == {
        "good": "VALID",
        "needy": "unavailable",
        "unbuildable": "unavailable",
        "crashing": "crashed",
    }
    assert "needs no-such-program, found none; install it with: apt-get install no-such-program" in ended.err
    assert "unbuildable: the build failed with exit status 1: the reason" in ended.err


def test_nothing_that_could_be_measured_is_exit_3(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    make_subject("needy", needs='no-such-program = "*"')
    ended = httpdyno("bench", "needy", "--subjects", str(subject_folders), "--format", "json")
    assert ended.code == 3
    assert [row["verdict"] for row in ended.rows] == ["unavailable"]
    # Nor is the web's ceiling measured, since no row would be compared with it.
    assert all(call[0] != "room" for call in engine_calls(tmp_path / "log"))


@pytest.mark.parametrize("program", ["import os; os.abort()", "import sys; sys.exit(3)", "print('no result')", "pass"])
def test_trials_without_a_single_result_are_exit_3(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, program: str
) -> None:
    make_subject("silent", program=program)
    ended = httpdyno("bench", "silent", "--subjects", str(subject_folders), "--format", "json", "--limit", "4")
    assert ended.code == 3
    assert len(ended.rows) == 1


def test_the_time_of_a_whole_run_is_printed_before_builds(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("httpdyno.experiments.crawl.plan.HEADLINE", ())
    bare = given[1:]
    first, *others = httpdyno("bench", *bare).err.splitlines()
    foreseen = r"9 trials take about \d[\d.]* (s|min|h), after missing builds"
    assert re.fullmatch(f"httpdyno: bench: {foreseen}; for a first look: httpdyno bench --quick", first)
    assert others
    # A user who names subjects or amounts has chosen.
    for typed in (["--quick"], ["good"], ["--limit", "4"], ["--repeat", "1"]):
        assert "for a first look" not in httpdyno("bench", *typed, *bare).err
    monkeypatch.setenv("LIMIT", "4")
    assert "for a first look" not in httpdyno("bench", *bare).err


def test_of_whom_no_cpu_time_is_known_the_own_concurrency_is_taken_and_that_is_said(
    httpdyno: Command, given: list[str]
) -> None:
    ended = httpdyno("bench", *given, "--saturate", "--limit", "8", "--repeat", "1", "--format", "json")
    assert ended.code == 0, ended.err
    assert ended.rows[0]["concurrency"] == 1
    assert "--saturate: 2 short trials of each of 1 client find its concurrency first" in ended.err
    assert "good: 1 in flight: its own: the cost of an answer is unknown" in ended.err
