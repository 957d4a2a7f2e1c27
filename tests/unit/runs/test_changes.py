"""What has changed since a run was begun."""

from dataclasses import replace

import pytest

from httpdyno.runs.changes import changed_engine, changed_machine, changed_subject
from httpdyno.store import EngineIdentity, Machine, SubjectVersion

MACHINE = Machine("Linux", "6.1", "x86_64", "A CPU", 2, 2**31, sysctls={"net.ipv4.tcp_rmem": "4096\t131072"})
ENGINE = EngineIdentity("0.1.0", "aa")
SUBJECT = SubjectVersion("x", "X", "x", "1.0", {"go.sum": "00"}, concurrency=5, folder="/x", fingerprint="ff")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (MACHINE, None),
        (replace(MACHINE, memory_bytes=2**31 + 2**20), None),
        (replace(MACHINE, memory_bytes=2**32), "memory is 4.0 GiB, was 2.0 GiB"),
        (replace(MACHINE, memory_bytes=None), None),
        (replace(MACHINE, kernel="6.2"), "kernel is 6.2, was 6.1"),
        (replace(MACHINE, cpu=None), "cpu is not known, was A CPU"),
        (replace(MACHINE, governor="powersave"), "governor is powersave, was not known"),
        (replace(MACHINE, sysctls={"net.ipv4.tcp_rmem": "1"}), "net.ipv4.tcp_rmem is 1, was 4096 131072"),
        (replace(MACHINE, sysctls={}), "net.ipv4.tcp_rmem is not known, was 4096 131072"),
    ],
)
def test_a_machine(now: Machine, said: str | None) -> None:
    assert changed_machine(MACHINE, now) == said


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (ENGINE, None),
        (EngineIdentity("0.0.9", "aa"), "the engine is 0.1.0, was 0.0.9"),
        (EngineIdentity("0.1.0", "bb"), "the engine is another program of the same version 0.1.0"),
        (None, "the engine was not recorded"),
    ],
)
def test_an_engine(then: EngineIdentity | None, said: str | None) -> None:
    assert changed_engine(then, ENGINE) == said


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (SUBJECT, None),
        (replace(SUBJECT, version="1.1"), "it is of version 1.1, was 1.0"),
        (replace(SUBJECT, lockfiles={"go.sum": "01"}), "go.sum is 01, was 00"),
        (replace(SUBJECT, lockfiles={}), "go.sum is not known, was 00"),
        (replace(SUBJECT, fingerprint="fe"), "its files, or the programs that it is built with, have changed"),
        (replace(SUBJECT, version=None, unavailable="no go"), "it was available, and is not any more: no go"),
        # Before the build neither the version nor the hash need be known.
        (replace(SUBJECT, version=None, fingerprint=None), None),
    ],
)
def test_a_subject(now: SubjectVersion, said: str | None) -> None:
    assert changed_subject(SUBJECT, now, built=True) == said


def test_a_subject_that_was_unavailable() -> None:
    then = replace(SUBJECT, version=None, unavailable="needs go")
    assert changed_subject(then, then, built=True) is None
    assert changed_subject(then, replace(then, unavailable="needs go >= 2"), built=True) is None
    now = replace(SUBJECT, version=None)
    assert changed_subject(then, now, built=True) == "it was unavailable (needs go), and is available now"


def test_before_it_is_built_nobody_knows_whether_a_subject_is_available() -> None:
    unavailable = replace(SUBJECT, version=None, unavailable="needs go")
    assert changed_subject(unavailable, SUBJECT, built=False) is None
    assert changed_subject(SUBJECT, unavailable, built=False) is None
