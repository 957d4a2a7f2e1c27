"""`bench --resume`: continues with the same plan, and refuses incomparable trials."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno import __version__ as httpdyno_version
from httpdyno.store import holder_of, open_run
from httpdyno.store.folder import RunLock


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path) -> list[str]:
    """Two good clients and the option for their folder."""
    make_subject("good")
    make_subject("fine")
    return ["good", "fine", "--subjects", str(subject_folders)]


Stopped = Callable[..., Path]


@pytest.fixture(scope="module")
def stopped_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache of the runs of `stopped`: by the options, the run and the folder of its subjects."""
    return tmp_path_factory.mktemp("stopped")


@pytest.fixture
def stopped(
    httpdyno: Command,
    given: list[str],
    tmp_path: Path,
    subject_folders: Path,
    stopped_before: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Stopped:
    """Begin a bench of two clients whose engine fails after a number of trials; return the folder of the run.

    The same run is measured for the first test that asks for it; the others get a copy.
    """

    def begin(*options: str, after: int = 3, stdin: bytes | None = None) -> Path:
        same = stopped_before / " ".join([str(after), *options])
        if not same.exists():
            stop(httpdyno, tmp_path, monkeypatch, ["bench", *given, "--repeat", "3", *options], after, stdin)
            shutil.copytree(tmp_path / "runs", same / "runs")
            (same / "subjects").write_text(str(subject_folders))
            (folder,) = (tmp_path / "runs").iterdir()
            return folder
        shutil.copytree(same / "runs", tmp_path / "runs")
        (folder,) = (tmp_path / "runs").iterdir()
        manifest = folder / "manifest.json"
        manifest.write_text(manifest.read_text().replace((same / "subjects").read_text(), str(subject_folders)))
        return folder

    return begin


def stop(
    httpdyno: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    after: int,
    stdin: bytes | None,
) -> None:
    """Run a command whose engine fails after a number of trials."""
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    for number in range(after):
        (rooms / str(number)).touch()
    monkeypatch.setenv("FAKE_ENGINE_ROOMS", str(rooms))
    ended = httpdyno(*command, stdin=stdin)
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")
    assert ended.code == 3, ended.err
    assert ended.err.splitlines()[-1] == "httpdyno: the engine failed: no user namespaces here; run as root"


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads((folder / "manifest.json").read_text())
    change(values)
    (folder / "manifest.json").write_text(json.dumps(values))


def test_a_run_goes_on_where_it_stopped(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--limit", "4")
    before = open_run(folder)
    assert (before.manifest.state, len(before.trials)) == ("partial", 3)
    ended = httpdyno("bench", "--resume", folder.name, "--format", "json")
    assert ended.code == 0, ended.err
    assert {row["subject"]: row["totalUrls"] for row in ended.rows} == {"good": 4, "fine": 4}
    assert "6 trials, 3 of them finished before" in ended.err
    blocks = re.findall(r"block (\d) of 3: (\d) trials? in ", ended.err)
    assert blocks == [("2", "1"), ("3", "2")]
    run = open_run(folder)
    assert run.records()[:3] == before.records()
    assert [(trial.trial, trial.block, trial.position) for trial in run.records()] == [
        (number, number // 2, number % 2) for number in range(6)
    ]
    assert {(trial.subject, trial.block) for trial in run.records()} == {
        (name, block) for name in ("good", "fine") for block in range(3)
    }
    assert run.samples().collect().height == 24
    assert run.manifest.command == before.manifest.command
    assert run.manifest.started_at == before.manifest.started_at
    assert len(run.manifest.resumed_at) == 1


def test_the_plan_is_that_of_a_run_without_a_stop(httpdyno: Command, stopped: Stopped, given: list[str]) -> None:
    folder = stopped("--limit", "4", "--seed", "5")
    httpdyno("bench", "--resume", str(folder))
    assert httpdyno("bench", *given, "--repeat", "3", "--limit", "4", "--seed", "5").code == 0
    other = next(path for path in folder.parent.iterdir() if path != folder)
    orders = [[trial.subject for trial in open_run(path).records()] for path in (folder, other)]
    assert orders[0] == orders[1]


def test_it_is_said_how_a_stopped_run_goes_on(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    ended = httpdyno("bench", *given, "--limit", "4")
    name = ended.err.splitlines()[-2].rpartition("/")[2]
    assert f"run: runs/{name} (partial); continue with: httpdyno bench --resume runs/{name}" in ended.err
    monkeypatch.delenv("FAKE_ENGINE")
    assert httpdyno("bench", "--resume", "latest").code == 0


def test_settings_are_those_that_the_run_was_begun_with(
    httpdyno: Command, stopped: Stopped, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = stopped(
        "--quick", "--limit", "16", "--timeout", "2.5", "--duration", "90", "--user-agent", "me", "--seed", "9",
        "--concurrency", "4", "--memory", "512MiB", "--web", "plain", "--link", "4g", "--link-seed", "5",
    )  # fmt: skip
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    # Variables in the environment are for other commands.
    monkeypatch.setenv("LIMIT", "7")
    monkeypatch.setenv("CONCURRENCY", "8")
    ended = httpdyno("bench", "--resume", str(folder))
    assert ended.code == 0, ended.err
    assert "a first look (--quick): each subject ran 3 times" in ended.out
    rooms = [call for call in map(json.loads, log.read_text().splitlines()) if call[0] == "room"]
    assert len(rooms) == 3
    for part in (
        "--web plain --seed 9 --timeout 2.5 --deadline 90s "
        "--link rtt=53ms,up.rate=13600kbit,down.rate=14700kbit,queue=100ms --link-seed 5 --memory 536870912",
        "CONCURRENCY=4",
        "REQUEST_TIMEOUT=2.5",
        "USER_AGENT=me",
    ):
        assert part in " ".join(rooms[0])
    first, *_, last = open_run(folder).records()
    assert (first.urls_given, first.concurrency, first.timeout_ns) == (
        last.urls_given,
        last.concurrency,
        last.timeout_ns,
    )


def test_a_list_from_standard_input_is_kept_while_it_is_needed(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--urls", "-", stdin=b"a.example\n# no\nb.example\nc.example\nd.example\n")
    assert (
        gzip.decompress((folder / "urls.gz").read_bytes())
        == b"https://a.example\nhttps://b.example\nhttps://c.example\nhttps://d.example\n"
    )
    ended = httpdyno("bench", "--resume", str(folder), "--format", "json", stdin=b"other.example\n")
    assert ended.code == 0, ended.err
    urls = open_run(folder).samples().collect()["url"]
    assert sorted(set(urls)) == [f"https://{name}.example" for name in "abcd"]
    assert len(urls) == 24
    assert {path.name for path in folder.iterdir()}.isdisjoint({"lock", "parts", "urls.gz"})


def test_a_list_from_a_file_is_the_one_that_was_read(httpdyno: Command, stopped: Stopped, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a.example\n" * 4)
    folder = stopped("--urls", "list")
    (tmp_path / "list").write_text("b.example\n")
    assert httpdyno("bench", "--resume", str(folder)).code == 0
    assert set(open_run(folder).samples().collect()["url"]) == {"https://a.example"}


def test_a_list_of_a_web_is_not_kept(stopped: Stopped) -> None:
    assert not (stopped("--limit", "4") / "urls.gz").exists()


def test_each_subject_keeps_the_concurrency_that_it_was_begun_with(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--limit", "4")
    rewrite(folder, lambda manifest: [subject.update(concurrency=7) for subject in manifest["subjects"]])
    assert httpdyno("bench", "--resume", str(folder)).code == 0
    assert [trial.concurrency for trial in open_run(folder).records()] == [1, 1, 1, 7, 7, 7]


def refused(httpdyno: Command, *arguments: str) -> str:
    ended = httpdyno("bench", "--resume", *arguments)
    assert ended.code == 2, ended.err
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    return line


def test_a_complete_run_is_refused(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    httpdyno("bench", *given, "--quick", "--limit", "4")
    (folder,) = (tmp_path / "runs").iterdir()
    said = f"{folder.name} is complete: no trial is left; begin a new run"
    assert refused(httpdyno, "latest").endswith(said)


def test_a_run_that_is_still_running_is_refused(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--limit", "4")
    lock = RunLock.take(folder)
    assert lock is not None
    assert "is still running (process " in refused(httpdyno, str(folder))
    lock.release()
    assert httpdyno("bench", "--resume", str(folder)).code == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--repeat", "5"], "--repeat"),
        (["--limit", "4"], "--limit"),
        (["--urls", "-"], "--urls"),
        (["--quick"], "--quick"),
        (["--seed", "1"], "--seed"),
        (["good"], "a SUBJECT"),
    ],
)
def test_what_would_contradict_the_run_is_refused(
    httpdyno: Command, stopped: Stopped, more: list[str], said: str
) -> None:
    folder = stopped("--limit", "4")
    line = refused(httpdyno, str(folder), *more)
    assert line == f"httpdyno: --resume: {said} cannot change when a run is resumed; leave it out"


@pytest.mark.parametrize("verb", ["bench", "tune", "capacity", "cost", "latency", "service"])
@pytest.mark.parametrize("option", ["--subjects", "--install"])
def test_no_verb_takes_other_subjects_or_tools_for_the_rest_of_a_run(
    httpdyno: Command, verb: str, option: str, tmp_path: Path
) -> None:
    value = [str(tmp_path)] if option == "--subjects" else []
    ended = httpdyno(verb, "--resume", "latest", option, *value)
    line = f"httpdyno: --resume: {option} cannot change when a run is resumed; leave it out\n"
    assert (ended.code, ended.err) == (2, line)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(version="9.9"), f"httpdyno is {httpdyno_version}, was 9.9; begin a new run"),
        (lambda m: m["engine"].update(sha256="00"), "the engine is another build; begin a new run"),
        (lambda m: m["machine"].update(kernel="9.9"), "the run began on another machine: kernel is "),
        (lambda m: m["webs"][0].update(digest="f" * 32), "the web top-sites has another model; begin a new run"),
        (lambda m: m["urls"].update(sha256="00"), "the list of URLs has changed since the run began"),
        (lambda m: m["subjects"][0].update(fingerprint="9"), "good: its files, or the programs that build it"),
        (lambda m: m["subjects"][0].update(lockfiles={"go.sum": "9"}), "good: go.sum is not known, was 9"),
        (lambda m: m["subjects"][0].update(folder="/nowhere"), "/nowhere"),
        (lambda m: m["subjects"][0].update(folder=None), "the folder of good was not recorded"),
        (lambda m: m["settings"].update(timeout_s="soon"), "the settings of the run are damaged: timeout_s: "),
        (lambda m: m["settings"].update(timeout_s=-1), "--timeout: -1 is not a timeout"),
        (lambda m: m["settings"].pop("deadline_s"), "the settings of the run are damaged: deadline_s is missing"),
        (lambda m: m["webs"].append(m["webs"][0]), "the settings of the run are damaged: there must be one web"),
        (lambda m: m.update(engine=None), "was made by a version of httpdyno that could not resume runs"),
        (lambda m: m.update(urls=None), "the run is damaged: its list of URLs is missing; begin a new run"),
        (lambda m: m.update(experiment="dance"), "experiment 'dance' is unknown"),
        (lambda m: m.update(record_version=99), "written by a newer httpdyno"),
    ],
)
def test_what_has_changed_is_refused_and_nothing_is_touched(
    httpdyno: Command, stopped: Stopped, change: Change, said: str
) -> None:
    folder = stopped("--limit", "4")
    rewrite(folder, change)
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    assert said in refused(httpdyno, str(folder))
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    assert holder_of(folder) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m["subjects"][0].update(unavailable="no"), "good: it was unavailable (no), and is available now"),
        (lambda m: m["settings"].update(repeat=1), "trial 3 does not match the plan of its settings"),
        (lambda m: m["settings"].update(repeat=0), "repeat must be 1 or more, not 0"),
    ],
)
def test_what_shows_only_in_the_plan_is_refused_and_no_trial_is_lost(
    httpdyno: Command, stopped: Stopped, change: Change, said: str
) -> None:
    folder = stopped("--limit", "4")
    before = open_run(folder).records()
    rewrite(folder, change)
    ended = httpdyno("bench", "--resume", str(folder))
    assert ended.code == 2
    assert said in ended.err
    assert open_run(folder).records() == before
    assert holder_of(folder) is None


def test_a_subject_that_is_gone_or_edited_is_refused(
    httpdyno: Command, stopped: Stopped, subject_folders: Path
) -> None:
    folder = stopped("--limit", "4")
    program = subject_folders / "fine" / "main.py"
    program.write_text(program.read_text() + "\n# edited\n")
    assert "fine: its files, or the programs that build it, have changed" in refused(httpdyno, str(folder))
    (subject_folders / "fine" / "subject.toml").unlink()
    assert "subject.toml" in refused(httpdyno, str(folder))


def test_a_list_that_was_damaged_is_refused(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--urls", "-", stdin=b"a.example\nb.example\nc.example\nd.example\n")
    kept = folder / "urls.gz"
    kept.write_bytes(gzip.compress(b"https://a.example\n"))
    assert "the list of URLs has changed" in refused(httpdyno, str(folder))
    kept.write_bytes(b"damaged")
    assert "the list of URLs is damaged" in refused(httpdyno, str(folder))
    kept.unlink()
    assert "the list of URLs cannot be read: No such file or directory" in refused(httpdyno, str(folder))


def test_names_of_runs_that_are_none(httpdyno: Command, tmp_path: Path) -> None:
    assert "'nothing': there is no such run" in refused(httpdyno, "nothing")
    assert "latest: runs holds no run" in refused(httpdyno, "latest")
    (tmp_path / "empty").mkdir()
    assert "is not a run of httpdyno: it has no manifest.json" in refused(httpdyno, "empty")
    assert list((tmp_path / "empty").iterdir()) == []


def test_runs_shows_which_run_is_running(httpdyno: Command, stopped: Stopped) -> None:
    folder = stopped("--limit", "4")
    (row,) = httpdyno("runs", "--format", "json").rows
    assert (row["state"], row["trials"], row["planned"], row["process"]) == ("partial", 3, 6, None)
    lock = RunLock.take(folder)
    assert lock is not None
    lock.name_holder(4711)
    (row,) = httpdyno("runs", "--format", "json").rows
    assert (row["state"], row["trials"], row["planned"], row["process"]) == ("running", 3, 6, 4711)
    lock.release()
    httpdyno("bench", "--resume", str(folder))
    (row,) = httpdyno("runs", "--format", "json").rows
    assert (row["state"], row["trials"], row["process"]) == ("complete", 6, None)


def test_what_is_known_of_earlier_runs_makes_the_estimate(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    bench = ["bench", *given, "--repeat", "2", "--limit", "4"]
    # The exchanges of the stand-in's web take 2 ms: the rest is a second to start and the overhead of each trial, that
    # of the ceiling, too.
    assert "4 trials: about 8 s" in httpdyno(*bench).err
    for folder in (tmp_path / "runs").iterdir():
        frame = open_run(folder).trials
        frame.with_columns(wall_ns=frame["wall_ns"] * 0 + 59 * 10**9).write_parquet(folder / "trials.parquet")
    assert "4 trials: about 4 min" in httpdyno(*bench).err
    # Another list is other work.
    assert "4 trials: about 8 s" in httpdyno(*bench[:-1], "5").err


def test_a_preset_is_shown_as_one_also_after_a_stop(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("httpdyno.subjects.catalogue.builtin_folder", lambda: subject_folders)
    make_subject("go-net-http")
    make_subject("deno-fetch")
    preset = ["bench", "--preset", "published", "--limit", "600", "--repeat", "1", "--format", "plain"]
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    (rooms / "only").touch()
    monkeypatch.setenv("FAKE_ENGINE_ROOMS", str(rooms))
    assert httpdyno(*preset).code == 3
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")
    resumed = httpdyno("bench", "--resume", "latest", "--format", "plain")
    assert resumed.code == 0, resumed.err
    assert {row.split()[2] for row in resumed.out.splitlines() if row.startswith("Python")} >= {"125", "150"}
    assert "Rust reqwest: unavailable: httpdyno has no such subject" in resumed.out.splitlines()
    (folder,) = (tmp_path / "runs").iterdir()
    assert {trial.concurrency for trial in open_run(folder).records()} == {125, 150}
