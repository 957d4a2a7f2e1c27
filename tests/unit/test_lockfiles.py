"""Lockfiles: forbidden content."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
FILES = [ROOT / name for name in TRACKED.split("\0") if name]
PUBLIC = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "github.com"}


def named(name: str) -> list[Path]:
    return [path for path in FILES if path.name == name and path.exists()]


def cargo_tree(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """List the crates that are built here: those of other systems would have to be downloaded."""
    argv = ["cargo", "tree", "--locked", *arguments]
    return subprocess.run(
        argv, cwd=ROOT, env=os.environ | {"CARGO_NET_RETRY": "10"}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("lockfile", named("Cargo.lock"), ids=lambda path: str(path.relative_to(ROOT)))
def test_ring_is_built_nowhere(lockfile: Path) -> None:
    locked = {package["name"] for package in tomllib.loads(lockfile.read_text(encoding="utf-8"))["package"]}
    if "ring" not in locked:
        return
    # A lockfile may name it for an unused feature of a dependency.
    whole = ("--workspace", "--manifest-path", lockfile.with_name("Cargo.toml"))
    asked = cargo_tree(*whole, "--invert", "ring")
    assert asked.stdout == ""
    assert "nothing to print" in asked.stderr or "did not match any packages" in asked.stderr
    # The query works: it finds a crate that is present.
    assert "rustls v" in cargo_tree(*whole).stdout


def allowed(expression: str, licences: set[str]) -> bool:
    """Whether these licences satisfy an SPDX expression; an old ``MIT/Apache-2.0`` is a choice."""

    def met(name: re.Match[str]) -> str:
        return {"AND": "and", "OR": "or"}.get(name[0]) or str(name[0] in licences)

    words = re.sub(r"[\w.-]+(?: WITH [\w.-]+)?", met, expression.replace("/", " OR "))
    return bool(eval(words))


def test_licences_are_combined_as_they_say() -> None:
    mine = {"MIT", "ISC"}
    assert allowed("MIT", mine)
    assert allowed("Apache-2.0/MIT", mine)
    assert allowed("ISC AND (Apache-2.0 OR MIT)", mine)
    assert not allowed("ISC AND Apache-2.0", mine)
    assert not allowed("MIT WITH an-exception", mine)


def test_the_engine_is_linked_under_the_licences_that_are_allowed() -> None:
    licences = set(tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"])
    listed = cargo_tree("--package=httpdyno-engine", "--prefix=none", "--format={p}: {l}")
    crates = [line.removesuffix(" (*)").partition(": ")[::2] for line in set(listed.stdout.splitlines())]
    assert len(crates) > 100
    assert [crate for crate, terms in crates if not allowed(terms, licences)] == []


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
