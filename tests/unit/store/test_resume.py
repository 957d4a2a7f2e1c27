"""Resumed runs: by one process at a time, with their finished trials, and only with remaining ones."""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from doubles.given_clock import GivenClock
from httpdyno.errors import NotResumable, StorageFailed, UnreadableRun
from httpdyno.model import Outcome, Trial
from httpdyno.store import (
    Manifest,
    RunWriter,
    holder_of,
    keep_list,
    kept_list,
    open_run,
    reader,
)
from httpdyno.store.folder import RunLock
from httpdyno.store.manifest import describe_machine

MANIFEST = Manifest(
    experiment="bench",
    command=("httpdyno", "bench"),
    version="0.1.0",
    started_at=datetime(2024, 10, 21, 12, tzinfo=UTC),
    machine=describe_machine(),
    trials_planned=2,
)
END = MANIFEST.started_at


def trial(number: int) -> Trial:
    return Trial(
        number, 0, number, "bench", "", "x", "X", "x", "1.0", 10, "plain", 1, "direct", 5 * 10**9, True, "", "", 3,
        Outcome.OK,
    )  # fmt: skip


def interrupted(folder: Path) -> Path:
    writer = RunWriter.create(folder, MANIFEST)
    writer.add(trial(1))
    return writer.close(complete=False, ended_at=END)


def test_a_run_is_continued_with_what_is_there(tmp_path: Path) -> None:
    writer = RunWriter.reopen(interrupted(tmp_path))
    assert writer.manifest == replace(MANIFEST, ended_at=END)
    writer.describe(replace(MANIFEST, ended_at=None, resumed_at=(END,)))
    writer.add(trial(0))
    writer.close(complete=True, ended_at=END)
    run = open_run(writer.folder)
    assert run.records() == (trial(0), trial(1))
    assert (run.manifest.state, run.manifest.resumed_at, run.manifest.ended_at) == ("complete", (END,), END)
    assert {path.name for path in writer.folder.iterdir()} == {
        "manifest.json",
        "trials.parquet",
        "figures.parquet",
        "samples.parquet",
    }


def test_a_run_that_was_killed_while_it_was_gathered_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0))
    monkeypatch.setattr(writer, "describe", killed)
    with pytest.raises(KeyboardInterrupt):
        writer.close(complete=True, ended_at=END)
    assert (writer.folder / "trials.parquet").exists()
    assert open_run(writer.folder).manifest.state == "partial"
    again = RunWriter.reopen(writer.folder)
    again.close(complete=True, ended_at=END)
    assert open_run(writer.folder).records() == (trial(0),)


def killed(*_: object, **_named: object) -> NoReturn:
    raise KeyboardInterrupt


def test_a_complete_run_is_not_continued(tmp_path: Path) -> None:
    folder = RunWriter.create(tmp_path, MANIFEST).close(complete=True, ended_at=END)
    with pytest.raises(NotResumable, match="is complete: no trial is left"):
        RunWriter.reopen(folder)
    assert not (folder / "lock").exists()


def test_a_run_that_is_completed_while_it_is_waited_for_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(tmp_path)
    take = RunLock.take

    def completed_just_before(folder: Path) -> RunLock | None:
        text = (folder / "manifest.json").read_text().replace('"partial"', '"complete"')
        (folder / "manifest.json").write_text(text)
        return take(folder)

    monkeypatch.setattr(RunLock, "take", completed_just_before)
    with pytest.raises(NotResumable, match="is complete"):
        RunWriter.reopen(folder)
    assert holder_of(folder) is None


def test_a_run_that_is_being_made_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.store.folder._PATIENCE_S", 0.01)
    writer = RunWriter.create(tmp_path, MANIFEST)
    assert holder_of(writer.folder) == os.getpid()
    with pytest.raises(NotResumable, match=rf"is still running \(process {os.getpid()}\): wait for its end, or stop"):
        RunWriter.reopen(writer.folder)
    writer.close(complete=False, ended_at=END)
    assert holder_of(writer.folder) is None
    RunWriter.reopen(writer.folder).lock.release()


@pytest.mark.parametrize("content", [None, "{", '{"record_version": 1}'])
def test_what_is_no_run_is_not_continued(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UnreadableRun):
        RunWriter.reopen(tmp_path)
    assert not (tmp_path / "lock").exists()


@contextlib.contextmanager
def started(program: str, folder: Path, stdin: int | None = None) -> "Iterator[subprocess.Popen[str]]":
    """Start a program that never ends by itself; it is ended after the block in any case."""
    argv = [sys.executable, "-c", program, folder]
    with subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


HOLDS = """
import sys, time
from pathlib import Path
from httpdyno.store.folder import RunLock
lock = RunLock.take(Path(sys.argv[1]))
print("held" if lock else "refused", flush=True)
time.sleep(1000)
"""


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    with started(HOLDS, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert holder_of(tmp_path) == process.pid
    assert holder_of(tmp_path) is None
    lock = RunLock.take(tmp_path)
    assert lock is not None
    lock.release()


INHERITS = """
import sys, time
from pathlib import Path
from httpdyno.store.folder import RunLock
lock = RunLock.inherit(Path(sys.argv[1]), 0)
print("held" if lock else "refused", flush=True)
time.sleep(1000)
"""


def test_an_inherited_lock_is_held_without_interruption(tmp_path: Path) -> None:
    lock = RunLock.take(tmp_path)
    assert lock is not None
    with started(INHERITS, tmp_path, stdin=lock.descriptor) as process:
        lock.release()
        assert holder_of(tmp_path) is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert holder_of(tmp_path) == process.pid
    assert holder_of(tmp_path) is None


def test_another_file_is_no_lock(tmp_path: Path) -> None:
    with (tmp_path / "other").open("w+") as other:
        assert RunLock.inherit(tmp_path, other.fileno()) is None
        (tmp_path / "lock").touch()
        assert RunLock.inherit(tmp_path, other.fileno()) is None
    with (tmp_path / "lock").open() as only_readable:
        assert RunLock.inherit(tmp_path, only_readable.fileno()) is None
    assert RunLock.inherit(tmp_path, 999_999) is None


def test_the_lock_of_another_process_is_not_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.store.folder._PATIENCE_S", 0.01)
    lock = RunLock.take(tmp_path)
    assert lock is not None
    with (tmp_path / "lock").open("r+") as same_file:
        assert RunLock.inherit(tmp_path, same_file.fileno()) is None
        lock.release()
        inherited = RunLock.inherit(tmp_path, same_file.fileno())
        assert inherited is not None
        assert inherited.inherited
        assert Path(f"/proc/self/fd/{same_file.fileno()}").readlink() == Path(os.devnull)
    assert holder_of(tmp_path) == os.getpid()
    inherited.release()
    assert holder_of(tmp_path) is None


def test_reading_the_holder_does_not_prevent_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lock").touch()
    looking = (tmp_path / "lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)

    class LookedMeanwhile(GivenClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            looking.close()

    monkeypatch.setattr("httpdyno.store.folder.time", clock := LookedMeanwhile())
    with contextlib.closing(looking):
        lock = RunLock.take(tmp_path)
    assert lock is not None
    lock.release()
    assert clock.now_s > 0


def test_a_folder_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "absent") is None
    with pytest.raises(StorageFailed, match="cannot be locked: No such file or directory"):
        RunLock.take(tmp_path / "absent")


def test_a_run_that_was_never_begun_leaves_nothing(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_a_kill_left_half_taken_back_has_no_name_and_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = replace(MANIFEST, started_at=END + timedelta(seconds=1))
    RunWriter.create(tmp_path, MANIFEST).lock.release()
    writer = RunWriter.create(tmp_path, MANIFEST)
    assert writer.folder.name == "20241021T120000Z-bench-2"
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            writer.discard()
    writer.lock.release()
    (left,) = tmp_path.glob(".*")
    assert not writer.folder.exists()
    os.utime(left, (0, 0))
    RunWriter.create(tmp_path, second).lock.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["20241021T120000Z-bench", "20241021T120001Z-bench"]


def test_a_run_that_cannot_lose_its_name_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    monkeypatch.setattr(Path, "rename", refused)
    writer.discard()
    assert open_run(writer.folder).manifest == MANIFEST
    assert holder_of(writer.folder) is None


def test_a_folder_that_may_not_be_listed_takes_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "iterdir", refused)
    writer = RunWriter.create(tmp_path, MANIFEST)
    assert open_run(writer.folder).manifest == MANIFEST
    writer.lock.release()


def refused(*_: object) -> NoReturn:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_list_is_kept_until_the_run_is_complete(tmp_path: Path) -> None:
    content = b"".join(b"https://host%d.example/\n" % number for number in range(100_000))
    (tmp_path / "list").write_bytes(content)
    writer = RunWriter.create(tmp_path / "runs", MANIFEST)
    keep_list(writer.folder, tmp_path / "list")
    assert (writer.folder / "urls.gz").stat().st_size < len(content) / 4
    writer.close(complete=False, ended_at=END)
    assert b"".join(kept_list(writer.folder)) == content
    RunWriter.reopen(writer.folder).close(complete=True, ended_at=END)
    assert not (writer.folder / "urls.gz").exists()


def test_a_list_that_is_missing_or_damaged_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="the list of URLs cannot be read: No such file"):
        list(kept_list(tmp_path))
    (tmp_path / "list").write_bytes(b"https://a.example/\n" * 10_000)
    keep_list(tmp_path, tmp_path / "list")
    whole = (tmp_path / "urls.gz").read_bytes()
    middle = len(whole) // 2
    for damaged in (b"no gzip", whole[:middle], whole[:middle] + b"x" * 9 + whole[middle + 9 :]):
        (tmp_path / "urls.gz").write_bytes(damaged)
        with pytest.raises(UnreadableRun, match="the list of URLs is damaged"):
            list(kept_list(tmp_path))


def test_a_run_that_is_completed_while_it_is_read_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path, MANIFEST)
    writer.add(trial(0))
    scan = reader._scan

    def completed_before_reading(*arguments: object, **named: object) -> object:
        monkeypatch.undo()
        writer.close(complete=True, ended_at=END)
        return scan(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "_scan", completed_before_reading)
    assert open_run(writer.folder).records() == (trial(0),)
