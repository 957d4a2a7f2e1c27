"""Lockfiles: what must not be in any of them."""

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
FILES = [ROOT / name for name in TRACKED.split("\0") if name]
PUBLIC = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "github.com"}


def named(name: str) -> list[Path]:
    return [path for path in FILES if path.name == name and path.exists()]


@pytest.mark.parametrize("lockfile", named("Cargo.lock"), ids=lambda path: str(path.relative_to(ROOT)))
def test_ring_is_built_nowhere(lockfile: Path) -> None:
    # The lockfile itself names it: for Cargo, a feature of a dependency that nobody uses may still bring it.
    manifest = lockfile.with_name("Cargo.toml")
    argv = ["cargo", "tree", "--locked", "--workspace", "--manifest-path", str(manifest), "--target", "all"]
    asked = subprocess.run([*argv, "--invert", "ring"], capture_output=True, text=True, check=False)
    assert asked.stdout == ""
    assert "nothing to print" in asked.stderr or "did not match any packages" in asked.stderr
    # The question can be answered at all: the same one finds what is there.
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout != ""


def hosts(texts: Iterable[str]) -> set[str]:
    return {urlsplit(text).hostname or "" for text in texts}


@pytest.mark.parametrize("lockfile", named("uv.lock"), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_locks_name_the_public_index_only(lockfile: Path) -> None:
    urls = re.findall(r'"(https?://[^"]+)"', lockfile.read_text(encoding="utf-8"))
    assert "pypi.org" in hosts(urls)
    assert hosts(urls) <= PUBLIC


def test_npm_locks_name_the_public_registry_only() -> None:
    for lockfile in named("package-lock.json"):
        lock = json.loads(lockfile.read_text(encoding="utf-8"))
        resolved = [package["resolved"] for package in lock["packages"].values() if "resolved" in package]
        assert hosts(resolved) <= PUBLIC, lockfile
