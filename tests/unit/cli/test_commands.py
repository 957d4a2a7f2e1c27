"""The verbs, from their options to what they print and exit with."""

import json
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.errors import UnreadableRun
from httpdyno.store import open_run


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """A good client and how to name its folder."""
    make_subject("good")
    return ["good", "--subjects", str(subject_folders)]


def engine_calls(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_help_lists_every_verb(httpdyno: Command) -> None:
    ended = httpdyno("--help")
    assert ended.code == 0
    for verb in ("bench", "try", "room", "origin", "urls", "doctor", "subjects", "runs", "--install-completion"):
        assert verb in ended.out


def test_a_bench_prints_a_row_a_subject_and_keeps_the_run(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--limit", "5", "--repeat", "2", "--format", "json")
    assert ended.code == 0
    (row,) = ended.rows
    assert (row["subject"], row["language"], row["concurrency"], row["totalUrls"], row["2xx"]) == (
        "good",
        "Python",
        3,
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
    monkeypatch.setenv("LIMIT", "4")
    ended = httpdyno(
        "bench", *given, "--user-agent", "from-option", "--web", "plain", "--seed", "9", "--cpus", "1:0",
        "--memory", "512MiB", "--repeat", "1", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0
    assert ended.rows[0]["totalUrls"] == 4
    assert ended.rows[0]["concurrency"] == 7
    (room,) = [call for call in engine_calls(tmp_path / "log") if call[0] == "room"]
    said = " ".join(room)
    for part in (
        "--web plain --seed 9 --timeout 2.5 --deadline 90s --subject-cpus 1 --engine-cpus 0 --memory 536870912",
        "--env CONCURRENCY=7",
        "--env REQUEST_TIMEOUT=2.5",
        "--env USER_AGENT=from-option",
        "--env KEEPALIVE=1",
    ):
        assert part in said


def test_each_subject_runs_five_times_unless_told_otherwise(
    httpdyno: Command, given: list[str], tmp_path: Path
) -> None:
    assert httpdyno("bench", *given, "--limit", "1").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert [trial.block for trial in run.records()] == [0, 1, 2, 3, 4]
    assert (run.manifest.settings["repeat"], run.manifest.settings["quick"]) == (5, False)


def test_a_first_look_is_short_and_says_that_it_is_one(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--quick")
    assert "a first look (--quick): each subject ran once; differences may be chance" in ended.out
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["quick"] is True
    (trial,) = run.records()
    assert trial.urls_given == 500
    ended = httpdyno("bench", *given, "--quick", "--repeat", "2", "--limit", "3", "--format", "json")
    assert ended.rows[0]["totalUrls"] == 3
    assert ended.err.count("trial ") == 2


def test_the_largest_seed_is_recorded(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("bench", *given, "--limit", "1", "--seed", str(2**64 - 1))
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert open_run(folder).records()[0].seed == 2**64 - 1


def test_a_list_of_domains_is_crawled(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a.example\nhttp://b.example/\nnot a url\n", encoding="utf-8")
    ended = httpdyno("bench", *given, "--urls", "list", "--format", "json")
    assert ended.rows[0]["totalUrls"] == 3
    (folder,) = (tmp_path / "runs").iterdir()
    urls = set(open_run(folder).samples().collect()["url"])
    assert urls == {"https://a.example", "http://b.example/", "not a url"}


def test_subjects_that_cannot_run_keep_their_row(
    httpdyno: Command, given: list[str], make_subject: MakeSubject
) -> None:
    make_subject("needy", needs='no-such-program = "*"')
    make_subject("unbuildable", more='[build]\nargv = ["sh", "-c", "echo the reason >&2; exit 1"]')
    make_subject("crashing", program="import os; os.abort()")
    ended = httpdyno("bench", *given, "needy", "unbuildable", "crashing", "--format", "json", "--limit", "3")
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
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("needy", needs='no-such-program = "*"')
    ended = httpdyno("bench", "needy", "--subjects", str(subject_folders), "--format", "json")
    assert ended.code == 3
    assert [row["verdict"] for row in ended.rows] == ["unavailable"]


@pytest.mark.parametrize("program", ["import os; os.abort()", "import sys; sys.exit(3)", "print('no result')", "pass"])
def test_trials_without_a_single_result_are_exit_3(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, program: str
) -> None:
    make_subject("silent", program=program)
    ended = httpdyno("bench", "silent", "--subjects", str(subject_folders), "--format", "json", "--limit", "2")
    assert ended.code == 3
    assert len(ended.rows) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "god"], "there is no subject 'god'"),
        (
            ["bench", "good", "--format", "xml"],
            "--format: 'xml' is not known; known are: csv, json, markdown, plain, table",
        ),
        (["bench", "good", "--timeout", "soon"], "--timeout: 'soon' is not understood"),
        (["bench", "good", "--timeout", "0"], "timeout must be more than 0 seconds"),
        (["bench", "good", "--duration", "-1"], "--duration: '-1' is not understood"),
        (["bench", "good", "--duration", "0"], "duration must be more than 0 seconds, not 0"),
        (["bench", "good", "--cpus", "99999"], "--cpus: CPU 99999 is not available here; choose from"),
        (["bench", "good", "--cpus", "some"], "--cpus: 'some' is not understood; write numbers and ranges"),
        (["bench", "good", "--user-agent", "two\nlines"], "'two\\nlines': no header can carry it"),
        (["bench", "good", "--user-agent", "\udcff"], "no header can carry it"),
        (["bench", "good", "--memory", "lots"], "--memory: 'lots' is not understood"),
        (["bench", "good", "--cpus", ":0"], "--cpus: ':0' is not understood; write it like 1:0"),
        (["bench", "good", "--web", "nowhere"], "there is no web 'nowhere'"),
        (["bench", "good", "--urls", "absent"], "--urls absent: cannot be read: No such file or directory"),
        (["bench", "good", "--limit", "0"], "Invalid value for '--limit'"),
        (["bench", "good", "--seed", str(2**64)], "Invalid value for '--seed'"),
        (["bench", "good", "--no-such-option"], "No such option"),
        (["try"], "Missing argument"),
        (["no-such-verb"], "No such command"),
        (["urls", "nowhere"], "there is no web 'nowhere'"),
        (["doctor", "--format", "csv"], "known are: plain, json"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, given: list[str], arguments: list[str], said: str) -> None:
    more = given[1:] if arguments[0] in {"bench", "try"} else []
    ended = httpdyno(*arguments, *more)
    assert ended.code == 2
    assert said in " ".join(ended.err.replace("│", " ").split())
    assert ended.out == ""
    assert "Traceback" not in ended.err


def test_an_engine_that_is_missing_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    for arguments in (["bench", *given], ["try", *given], ["room", "--", "true"], ["origin"]):
        ended = httpdyno(*arguments)
        assert (ended.code, ended.out) == (3, "")
        assert ended.err == (
            "httpdyno: HTTPDYNO_ENGINE=/no/engine is no program that can be run; unset it to use the usual one\n"
        )


def test_an_engine_that_refuses_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    ended = httpdyno("bench", *given, "--limit", "2")
    assert ended.code == 3
    assert ended.err.splitlines()[-1] == "httpdyno: the engine failed: no user namespaces here; run as root"
    (folder,) = (tmp_path / "runs").iterdir()
    assert open_run(folder).manifest.state == "partial"


def test_a_folder_that_cannot_be_written_is_one_line_and_exit_3(
    httpdyno: Command, given: list[str], tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("a file", encoding="utf-8")
    ended = httpdyno("bench", *given, "--limit", "2")
    assert ended.code == 3
    assert "results cannot be written" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_try_prints_each_url_and_then_the_figures(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    ended = httpdyno("try", *given, stdin=b"a.example\nhttp://b.example/x\n")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[:2] == ["[200] https://a.example : 2ms", "[200] http://b.example/x : 2ms"]
    assert any("rightPerSec" in line for line in lines)
    assert not (tmp_path / "runs").exists()


def test_try_as_plain_prints_the_lines_of_the_client(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMAT", "plain")
    ended = httpdyno("try", *given, "--limit", "2")
    assert ended.out == (
        "https://host0.example/,200,2026-11-21T10:00:00.000000+00:00,1.5,13\n"
        "https://host1.example/,200,2026-11-21T10:00:00.000000+00:00,1.5,13\n"
    )


def test_try_as_json_prints_the_figures_only(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("try", *given, "--limit", "2", "--format", "json")
    assert [row["totalUrls"] for row in ended.rows] == [2]


def test_an_empty_pipe_is_no_list(httpdyno: Command, given: list[str]) -> None:
    ended = httpdyno("try", *given, stdin=b"")
    assert ended.code == 2
    assert "there is no URL in standard input" in ended.err


def test_urls_of_a_web_and_of_a_list(httpdyno: Command, tmp_path: Path) -> None:
    assert httpdyno("urls", "plain", "--limit", "1").out == "https://host0.example/\n"
    (tmp_path / "list.txt").write_text("a.example\nb.example\n", encoding="utf-8")
    assert httpdyno("urls", "list.txt").out == "https://a.example\nhttps://b.example\n"
    assert httpdyno("urls", "-", "--limit", "1", stdin=b"c.example\nd.example\n").out == "https://c.example\n"


def test_doctor_gives_consequence_and_cure(httpdyno: Command) -> None:
    out = httpdyno("doctor").out
    assert "ok      cpus: 2" in out
    assert "limited perf: not known\n        consequence: no counters\n        cure: another machine\n" in out
    assert "no      tun: no\n        consequence: no links\n        cure: load the module\n" in out
    facts = httpdyno("doctor", "--format", "json").rows
    assert {"engine", "cpus", "go", "node", "cache folder"} <= {fact["name"] for fact in facts}
    assert all(set(fact) == {"name", "value", "ok", "consequence", "cure"} for fact in facts)
    # The engine's facts and our own say it in the same words.
    assert {fact["ok"] for fact in facts} <= {"yes", "limited", "no"}
    assert {fact["name"]: fact["ok"] for fact in facts}["engine"] == "yes"


def test_doctor_works_without_an_engine(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    ended = httpdyno("doctor")
    assert ended.code == 0
    assert "no      engine: HTTPDYNO_ENGINE=/no/engine" in ended.out
    assert "cure: make setup" in ended.out


def test_subjects_are_listed_with_their_state(httpdyno: Command, given: list[str], make_subject: MakeSubject) -> None:
    make_subject("needy", needs='no-such-program = ">=3"')
    make_subject("misspelt", more="[rnu]")
    rows = {row["id"]: row for row in httpdyno("subjects", "list", "--format", "json", *given[1:]).rows}
    assert {"go-net-http", "rust-reqwest", "node-fetch", "python-aiohttp"} <= set(rows)
    assert rows["good"]["state"] == "available"
    assert rows["needy"]["state"] == "unavailable"
    assert "found none; install it with" in rows["needy"]["reason"]
    assert "unknown key 'rnu'" in rows["misspelt"]["reason"]
    assert {"id", "kind", "language", "method", "version", "state", "reason"} <= set(rows["good"])


def test_build_names_what_failed(httpdyno: Command, given: list[str], make_subject: MakeSubject) -> None:
    make_subject("unbuildable", more='[build]\nargv = ["sh", "-c", "echo the reason; exit 1"]')
    assert httpdyno("subjects", "build", *given).code == 0
    ended = httpdyno("subjects", "build", "unbuildable", *given)
    assert ended.code == 3
    assert "httpdyno:   the reason" in ended.err


def test_probe_fails_on_a_claim_that_does_not_hold(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("boaster", more="[capabilities]\nkeepalive = [true]")
    ended = httpdyno("subjects", "probe", "boaster", "--subjects", str(subject_folders))
    assert ended.code == 1
    assert "FAILED  boaster: keepalive on: claimed, does not work" in ended.out


def test_runs_are_listed_the_newest_first(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    assert httpdyno("runs", "--format", "json").rows == []
    httpdyno("bench", *given, "--limit", "1", "--quick")
    httpdyno("bench", *given, "--limit", "1", "--repeat", "2")
    (tmp_path / "runs" / "foreign").mkdir()
    ended = httpdyno("runs", "--format", "json")
    assert [(row["state"], row["trials"], row["planned"]) for row in ended.rows] == [
        ("complete", 2, 2),
        ("complete", 1, 1),
    ]
    assert "is no run of httpdyno" in httpdyno("runs").out
    with pytest.raises(UnreadableRun):
        open_run(tmp_path / "runs" / "foreign")


def test_version(httpdyno: Command) -> None:
    ended = httpdyno("--version")
    assert ended.out.startswith("httpdyno ")
    assert ended.code == 0
