"""What a manifest says about the machine, the checkout and the lockfiles."""

import hashlib
import os
import subprocess
from pathlib import Path

from httpdyno.store import describe_git, describe_machine, lockfile_digests


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
