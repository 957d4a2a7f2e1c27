"""Runs on disk: whole or partial, never in between, and refused with one line if they are neither."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from threading import Thread
from typing import NoReturn

import polars as pl
import pytest

from httpdyno.errors import InvalidValue, StorageFailed, UnreadableRun
from httpdyno.model import (
    CEILING_TRIAL,
    Counters,
    LinesSummary,
    MemoryPoint,
    Outcome,
    Purpose,
    Sample,
    Tally,
    Trial,
    Validity,
    figures_of,
)
from httpdyno.store import (
    GitState,
    Machine,
    Manifest,
    RunWriter,
    SubjectVersion,
    WebIdentity,
    files,
    open_run,
    polars_schema,
    run_folders,
)

START = datetime(2024, 10, 21, 12, 0, 0, tzinfo=UTC)
MANIFEST = Manifest(
    experiment="bench",
    command=("httpdyno", "bench", "--seed", "1"),
    version="0.1.0",
    started_at=START,
    machine=Machine("Linux", "6.1", "x86_64", "A CPU", 2, 2**31, sysctls={"net.ipv4.tcp_tw_reuse": "1"}),
    trials_planned=2,
    git=GitState("abc", True),
    webs=(WebIdentity("plain", 1, "digest"),),
    subjects=(SubjectVersion("x", "X", "x", "1.0", {"go.sum": "00"}),),
    settings={"timeout_s": 5.0, "repeat": 1, "limit": None, "quick": False, "format": "table"},
)


def trial(number: int) -> Trial:
    return Trial(
        number, 0, number, "bench", "", "x", "X", "x", "1.0", 10, "plain", 1, "direct", 5 * 10**9, True, "", "", 3,
        Outcome.OK, validity=Validity.VALID, tally=Tally(right=3),
        figures=figures_of(LinesSummary(urls=3, mean_ns=1.5)),
        counters=Counters(wall_ns=7, memory=(MemoryPoint(1, 2),), statuses=()),
    )  # fmt: skip


def samples(number: int, rows: int = 3) -> pl.DataFrame:
    values = {
        "trial": number, "line": 1, "url": "https://a.example", "code": "200", "status": 200, "error": None,
        "start_ns": 1, "duration_ns": 2, "body_length": 3, "cause": None, "verdict": "right",
        "served_status": None, "served_body_length": None, "explained": False,
    }  # fmt: skip
    return pl.DataFrame([values] * rows)


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path / "runs", MANIFEST)
    assert writer.folder == tmp_path / "runs" / "20241021T120000Z-bench"
    writer.add(trial(0), samples(0))
    writer.add(trial(1))
    end = datetime(2024, 10, 21, 12, 1, tzinfo=UTC)
    assert writer.close(complete=True, ended_at=end) == writer.folder
    run = open_run(writer.folder)
    assert run.manifest == replace(MANIFEST, state="complete", ended_at=end)
    assert run.records() == (trial(0), trial(1))
    kept = run.samples().collect()
    assert dict(kept.schema) == polars_schema(Sample)
    assert kept["trial"].to_list() == [0, 0, 0]
    assert sorted(path.name for path in writer.folder.iterdir()) == [
        "figures.parquet",
        "manifest.json",
        "samples.parquet",
        "trials.parquet",
    ]


def test_a_run_is_partial_with_its_finished_trials_until_it_is_closed(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    assert open_run(writer.folder).records() == ()
    assert open_run(writer.folder).samples().collect().is_empty()
    writer.add(trial(1), samples(1))
    writer.add(trial(0), samples(0))
    run = open_run(writer.folder)
    assert run.manifest.state == "partial"
    assert run.records() == (trial(0), trial(1))
    assert len(run.samples().collect()) == 6


def test_an_interrupted_run_is_closed_as_partial(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0), samples(0))
    writer.close(complete=False, ended_at=START)
    run = open_run(writer.folder)
    assert (run.manifest.state, run.records()) == ("partial", (trial(0),))
    assert run.samples().collect().height == 3


def test_runs_of_the_same_second_do_not_meet(tmp_path: Path) -> None:
    writers: list[RunWriter] = []
    threads = [Thread(target=lambda: writers.append(RunWriter.create(tmp_path, MANIFEST))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({writer.folder for writer in writers}) == 8
    assert all(open_run(writer.folder).manifest == MANIFEST for writer in writers)


@pytest.mark.parametrize("name", ["", "../x", "Bench", "a b", "a/b"])
def test_an_experiment_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue, match="experiment"):
        RunWriter.create(tmp_path, replace(MANIFEST, experiment=name))


def test_a_run_needs_a_folder_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="choose another folder with --out DIR") as raised:
        RunWriter.create(tmp_path / "file", MANIFEST)
    assert raised.value.exit_code == 3
    assert "\n" not in raised.value.line


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runs import MANIFEST, RunWriter, samples, trial
import httpdyno.store.writer as writer_module
writer = RunWriter.create(Path({folder!r}), MANIFEST)
writer.add(trial(0), samples(0))
def kill_half_way(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
from httpdyno.store.files import write_whole
write_whole(writer.folder / "parts" / "samples-000001.parquet", kill_half_way)
"""


@pytest.mark.slow
def test_a_kill_in_the_middle_of_writing_leaves_the_finished_trials_and_nothing_else(tmp_path: Path) -> None:
    program = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (folder,) = tmp_path.iterdir()
    assert open_run(folder).records() == (trial(0),)
    assert sorted(path.name for path in (folder / "parts").iterdir()) == [
        "figures-000000.parquet",
        "samples-000000.parquet",
        "trial-000000.parquet",
    ]


BORN_DEAD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runs import MANIFEST, RunWriter
import httpdyno.store.writer as writer_module
writer_module.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
RunWriter.create(Path({folder!r}), MANIFEST)
"""


@pytest.mark.slow
def test_a_kill_before_a_run_has_its_name_leaves_none_and_is_swept(tmp_path: Path) -> None:
    program = BORN_DEAD.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = tmp_path.iterdir()
    assert run_folders(tmp_path) == ()
    first = RunWriter.create(tmp_path, MANIFEST)
    assert left.is_dir(), "somebody may be beginning a run there"
    os.utime(left, (0, 0))
    with (left / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = RunWriter.create(tmp_path, MANIFEST)
        assert left.is_dir(), "somebody is"
    third = RunWriter.create(tmp_path, MANIFEST)
    assert sorted(tmp_path.iterdir()) == sorted(writer.folder for writer in (first, second, third))


def test_a_full_disk_is_one_line_and_keeps_what_was_finished(tmp_path: Path) -> None:
    # A limit on the size of files fails as a full disk does: in the middle of a write.
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0), samples(0))
    random = Random(1)
    wide = samples(1, 20_000).with_columns(url=pl.Series(random.randbytes(8).hex() for _ in range(20_000)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(
            StorageFailed, match="results cannot be written: File too large; choose another folder with --out DIR"
        ) as raised:
            writer.add(trial(1), wide)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in raised.value.line
    assert open_run(writer.folder).records() == (trial(0),)
    assert len(list((writer.folder / "parts").iterdir())) == 3


def test_a_failure_while_closing_leaves_a_partial_run_with_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0), samples(0))

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(pl.LazyFrame, "sink_parquet", full)
        with pytest.raises(StorageFailed, match="No space left on device"):
            writer.close(complete=True, ended_at=START)
    run = open_run(writer.folder)
    assert (run.manifest.state, run.records(), len(run.samples().collect())) == ("partial", (trial(0),), 3)


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool) -> None:
    if not unnamed:
        monkeypatch.setattr(files, "_open_unnamed", lambda _folder: None)
    path = tmp_path / "file"
    files.write_whole(path, lambda file: file.write(b"one"))
    files.write_whole(path, lambda file: file.write(b"two"))
    with pytest.raises(ZeroDivisionError):
        files.write_whole(path, lambda file: file.write(b"three" * (1 // 0)))
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def _complete(tmp_path: Path) -> Path:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0), samples(0))
    return writer.close(complete=True, ended_at=START)


def _edit(folder: Path, **values: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="does not exist"):
        open_run(tmp_path / "none")
    with pytest.raises(UnreadableRun, match=r"it has no manifest\.json"):
        open_run(tmp_path)


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    folder = _complete(tmp_path)
    _edit(folder, record_version=3, state="new", machine=None)
    with pytest.raises(
        UnreadableRun, match=r"newer httpdyno \(records of version 3; this httpdyno reads up to 2\)"
    ) as raised:
        open_run(folder)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"record_version": "x"}', "{}", '{"record_version": 1}', "\x00\xff"]
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    folder = _complete(tmp_path)
    (folder / "manifest.json").write_text(text)
    with pytest.raises(UnreadableRun, match=r"manifest\.json") as raised:
        open_run(folder)
    assert "\n" not in raised.value.line


def test_the_error_of_a_wrong_value_names_its_place(tmp_path: Path) -> None:
    folder = _complete(tmp_path)
    _edit(folder, trials_planned="many")
    with pytest.raises(UnreadableRun, match="damaged at trials_planned"):
        open_run(folder)


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing", b"PAR1" * 100])
def test_damaged_trials_are_refused(tmp_path: Path, content: bytes | None) -> None:
    folder = _complete(tmp_path)
    path = folder / "trials.parquet"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(UnreadableRun, match="the run is damaged"):
        open_run(folder)


def test_trials_of_something_else_are_refused(tmp_path: Path) -> None:
    folder = _complete(tmp_path)
    pl.DataFrame({"x": [1]}).write_parquet(folder / "trials.parquet")
    with pytest.raises(UnreadableRun, match=r"trials\.parquet is damaged: it has no column trial"):
        open_run(folder)


def test_trials_with_impossible_values_are_refused(tmp_path: Path) -> None:
    folder = _complete(tmp_path)
    path = folder / "trials.parquet"
    rows = pl.read_parquet(path)
    rows.with_columns(subject=pl.lit(None, dtype=pl.String)).write_parquet(path)
    with pytest.raises(UnreadableRun, match="subject is missing"):
        open_run(folder).records()
    rows.with_columns(outcome=pl.lit("perhaps")).write_parquet(path)
    with pytest.raises(UnreadableRun, match="damaged"):
        open_run(folder)


def test_missing_samples_are_an_error_when_they_are_read(tmp_path: Path) -> None:
    folder = _complete(tmp_path)
    (folder / "samples.parquet").unlink()
    run = open_run(folder)
    with pytest.raises(UnreadableRun, match="damaged"):
        run.samples()


@pytest.mark.parametrize("complete", [True, False])
def test_the_trial_of_the_ceiling_is_kept_apart(tmp_path: Path, complete: bool) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    ceiling = replace(trial(0), trial=CEILING_TRIAL, purpose=Purpose.CEILING)
    for one in (ceiling, trial(0), trial(1)):
        writer.add(one)
    run = open_run(writer.close(complete=complete, ended_at=START))
    assert run.ceiling() == ceiling
    assert run.records() == (trial(0), trial(1))


def test_a_run_that_is_older_than_ceilings_has_none(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0))
    folder = writer.close(complete=True, ended_at=START)
    older = pl.read_parquet(folder / "trials.parquet").drop("purpose", "ceiling_per_s", "ceiling_limit")
    older.write_parquet(folder / "trials.parquet")
    run = open_run(folder)
    assert run.ceiling() is None
    (restored,) = run.records()
    assert (restored.purpose, restored.ceiling_per_s) == (None, None)
