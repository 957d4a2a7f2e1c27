"""The description of a machine, and the differences of runs."""

import hashlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.runs import manifest_of
from httpdyno.store import (
    Machine,
    SubjectVersion,
    describe_git,
    describe_machine,
    differences,
    lockfile_digests,
    subject_differences,
)

MACHINE = Machine("Linux", "6.1", "x86_64", "A CPU", 2, 2**31, sysctls={"net.ipv4.tcp_rmem": "4096\t131072"})
SUBJECT = SubjectVersion("x", "X", "x", "1.0", {"go.sum": "00"}, concurrency=5, folder="/x", fingerprint="ff")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (MACHINE, []),
        (replace(MACHINE, memory_bytes=2**31 + 2**20), []),
        (replace(MACHINE, memory_bytes=2**32), ["memory is 4.0 GiB, was 2.0 GiB"]),
        (replace(MACHINE, memory_bytes=None), ["memory is not known, was 2.0 GiB"]),
        (replace(MACHINE, kernel="6.2"), ["kernel is 6.2, was 6.1"]),
        (replace(MACHINE, cpu=None, cpus=4), ["cpu is not known, was A CPU", "cpus is 4, was 2"]),
        (replace(MACHINE, governor="powersave"), ["governor is powersave, was not known"]),
        (replace(MACHINE, clock_source="tsc"), ["clock source is tsc, was not known"]),
        (replace(MACHINE, sysctls={"net.ipv4.tcp_rmem": "1"}), ["net.ipv4.tcp_rmem is 1, was 4096 131072"]),
        (replace(MACHINE, sysctls={}), ["net.ipv4.tcp_rmem is not known, was 4096 131072"]),
    ],
)
def test_a_machine(now: Machine, said: list[str]) -> None:
    runs = (manifest_of([], machine=machine) for machine in (MACHINE, now))
    assert [difference.changed for difference in differences(*runs)] == said


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (SUBJECT, []),
        (replace(SUBJECT, version="1.1"), ["version is 1.1, was 1.0"]),
        (replace(SUBJECT, lockfiles={"go.sum": "01"}), ["go.sum is 01, was 00"]),
        (replace(SUBJECT, lockfiles={}), ["go.sum is not known, was 00"]),
        (replace(SUBJECT, fingerprint="fe"), ["its files, or the programs that build it, have changed"]),
        (replace(SUBJECT, version=None, unavailable="no go"), ["it was available, and is not now: no go"]),
        # Before the build neither the version nor the hash need be known.
        (replace(SUBJECT, version=None, fingerprint=None), []),
    ],
)
def test_a_subject(now: SubjectVersion, said: list[str]) -> None:
    assert [difference.changed for difference in subject_differences(SUBJECT, now)] == said


def test_a_subject_that_was_unavailable() -> None:
    then = replace(SUBJECT, version=None, unavailable="needs go")
    assert list(subject_differences(then, replace(then, unavailable="needs go >= 2"))) == []
    (available,) = subject_differences(then, replace(SUBJECT, version=None))
    assert (available.name, available.changed) == (
        "availability",
        "it was unavailable (needs go), and is available now",
    )


def test_the_machine_is_this_one() -> None:
    machine = describe_machine()
    assert (machine.kernel, machine.architecture) == (os.uname().release, os.uname().machine)
    assert machine.cpus == os.cpu_count()
    assert machine.memory_bytes is not None
    assert machine.memory_bytes > 2**20


def test_the_checkout(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=x", "-c", "user.email=x@x", *arguments]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    assert describe_git(tmp_path) is None
    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    state = describe_git(tmp_path)
    assert state is not None
    assert (state.commit, state.modified) == (git("rev-parse", "HEAD"), False)
    (tmp_path / "other").write_text("untracked")
    assert describe_git(tmp_path) == state
    (tmp_path / "file").write_text("two")
    changed = describe_git(tmp_path)
    assert changed is not None
    assert changed.modified


def test_no_checkout_without_a_folder(tmp_path: Path) -> None:
    assert describe_git(tmp_path / "none") is None


def test_lockfiles_are_known_by_name_and_digest(tmp_path: Path) -> None:
    (tmp_path / "go.sum").write_bytes(b"x")
    (tmp_path / "main.go").write_bytes(b"y")
    assert lockfile_digests(tmp_path) == {"go.sum": hashlib.sha256(b"x").hexdigest()}
