"""Needs of a subject: versions, and messages about missing ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.model import Need, Subject, SubjectKind
from httpdyno.subjects import needs
from httpdyno.subjects.cache import program_path
from httpdyno.subjects.needs import (
    ProgramVersion,
    check_name,
    check_needs,
    find_need,
    find_program,
    forget_found,
    parse_constraint,
    satisfies,
    toolchain,
    why_unavailable,
)


def subject(*needs: Need) -> Subject:
    return Subject(
        id="a-client",
        kind=SubjectKind.CLIENT,
        language="C",
        method="m",
        folder=Path("/nowhere"),
        run_argv=("x",),
        needs=needs,
    )


@pytest.mark.parametrize(
    ("version", "constraint", "met"),
    [
        ("1.26.8", ">=1.22", True),
        ("1.9", ">=1.22", False),
        ("1.22", ">=1.22.0", True),
        ("1.22.0", "==1.22", True),
        ("3.11.7", ">=3.11,<4", True),
        ("4.0", ">=3.11,<4", False),
        ("20.20.2", ">20", True),
        ("20.0", ">20", False),
        ("2", "!=2.0", False),
        ("2.1", "<=2", False),
        ("1.0", "", True),
        ("1.0", "*", True),
        ("", "*", True),
        ("", ">=1", False),
    ],
)
def test_versions_are_compared_by_number(version: str, constraint: str, met: bool) -> None:
    assert satisfies(version, constraint) is met


versions = st.lists(st.integers(0, 99), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(versions, versions)
def test_exactly_one_of_less_equal_greater_holds(one: str, other: str) -> None:
    assert sum(satisfies(one, f"{operator}{other}") for operator in ("<", "==", ">")) == 1


@pytest.mark.parametrize("text", ["1.22", "~=1.2", ">=", ">=1.x", ">=1.2;<2", "=>1"])
def test_a_constraint_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="is not understood; write it like '>=1.22'"):
        parse_constraint(text)


def test_a_missing_program_has_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "find_need", lambda _: None)
    (line,) = check_needs(subject(Need("go", ">=1.22"))).values()
    assert line == "needs go >=1.22, found none; install it with: httpdyno subjects install a-client"


def test_an_unavailable_subject_has_all_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "find_need", lambda _: None)
    error = why_unavailable(subject(Need("cargo"), Need("rustc"), Need("cc"), Need("dotnet", ">=10")))
    assert error is not None
    assert error.line == f"a-client: {error.reason}"
    assert error.reason.startswith(
        "needs cargo, found none; install it with: curl -sSf https://sh.rustup.rs | sh; needs "
    )
    assert error.install_command == "curl -sSf https://sh.rustup.rs | sh && apt-get install build-essential"
    assert error.install_by_hand == "the SDK of https://dotnet.microsoft.com/download, in PATH or DOTNET_ROOT"
    assert error.reason.endswith(f"needs dotnet >=10, found none; install {error.install_by_hand}")
    assert why_unavailable(subject()) is None


def test_libraries_are_found_with_their_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_found()
    for name, script in {
        "ruby": """echo '{"curb": "1.0.5", "odd": "x"}'""",
        "pkg-config": 'test "$2" = libcurl && echo 7.88.1',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = ("gem:curb", "gem:odd", "gem:absent", "pkg-config:libcurl", "pkg-config:absent")
    found = {name: find_need(name) for name in names}
    versions = {name: item.version if item else None for name, item in found.items()}
    assert versions == dict(zip(names, ("1.0.5", "", None, "7.88.1", None), strict=True))
    forget_found()


@pytest.mark.parametrize("name", ["gm:curb", "gem:", ":x", ""])
def test_a_need_of_no_kind_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="write the name of a program, or gem:NAME, pkg-config:NAME"):
        check_name(name)


def test_an_old_program_has_the_version_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"go": ProgramVersion(Path("/bin/go"), "1.19.8"), "cc": ProgramVersion(Path("/bin/cc"), "")}
    monkeypatch.setattr("httpdyno.subjects.needs.find_need", found.get)
    lines = check_needs(subject(Need("go", ">=1.22"), Need("cc"), Need("cc", ">=9"))).values()
    assert [line.split("; ")[0] for line in lines] == [
        "needs go >=1.22, found 1.19.8",
        "needs cc >=9, found an unknown version",
    ]


@pytest.mark.parametrize("path", ["/bin", "/bin:/usr/sbin"])
def test_servers_are_found_where_an_ordinary_user_does_not_look(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    assert program_path().split(":").count("/usr/sbin") == 1


def test_a_net_sdk_of_ones_own_is_found_after_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("DOTNET_ROOT", "/home/me/.dotnet")
    folders = program_path().split(":")
    assert folders.index("/bin") < folders.index("/home/me/.dotnet")


def test_programs_are_found_with_their_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_program.cache_clear()
    for name, script in {
        "speaks": "echo 'speaks version v12.3.4-beta'",
        "mutters": "echo 'nothing to see'",
        "stderr-only": "echo 'openjdk 17.0.15 2025' >&2",
        "fails": "exit 3",
        "wrk": "echo 'wrk 4.1.0 [epoll]'; exit 1",
        "nginx": "test \"$*\" = -v && echo 'nginx version: nginx/1.22.1' >&2",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {
        name: find_program(name) for name in ("speaks", "mutters", "stderr-only", "fails", "wrk", "nginx", "absent")
    }
    assert {name: item.version if item else None for name, item in found.items()} == {
        "speaks": "12.3.4",
        "mutters": "",
        "stderr-only": "17.0.15",
        "fails": None,
        "wrk": "4.1.0",
        "nginx": "1.22.1",
        "absent": None,
    }
    assert toolchain([Need("speaks"), Need("absent")]) == {"speaks": "12.3.4"}
    find_program.cache_clear()
