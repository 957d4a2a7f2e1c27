"""`doctor`: the abilities of this machine, their effects, and remedies."""

import pytest

from doubles.command_line import Command
from httpdyno.lab.diagnosis import Toolchain, conclude
from httpdyno.model import Fact, Fitness


def test_doctor_gives_consequence_and_cure(httpdyno: Command) -> None:
    out = httpdyno("doctor").out
    assert "ok      cpus: 2" in out
    assert "limited perf: not known\n        consequence: no counters\n        cure: another machine\n" in out
    assert "no      tun: no\n        consequence: no links\n        cure: load the module\n" in out
    facts = httpdyno("doctor", "--format", "json").rows
    assert {"engine", "cpus", "go", "node", "cache folder"} <= {fact["name"] for fact in facts}
    assert all(set(fact) == {"name", "value", "ok", "consequence", "cure"} for fact in facts)
    # The engine and Python report it in the same words.
    assert {fact["ok"] for fact in facts} <= {"yes", "limited", "no"}
    assert {fact["name"]: fact["ok"] for fact in facts}["engine"] == "yes"


def test_doctor_works_without_an_engine(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    ended = httpdyno("doctor")
    assert ended.code == 1
    assert "no      engine: HTTPDYNO_ENGINE=/no/engine" in ended.out
    assert "cure: make setup" in ended.out


ROOMS = [Fact(name, True, Fitness.YES) for name in ("engine", "network_namespaces", "process_namespaces")]
LIMIT = Fact("perf", None, Fitness.LIMITED, "no counters", "another machine")
TOOLCHAIN = Toolchain("go", "not found", Fitness.LIMITED, "unavailable: go-net-http", "apt-get install golang")
NO_LINKS = Fact("tun", False, Fitness.NO, "no links", "load the module")
NO_ROOM = Fact("network_namespaces", "EPERM", Fitness.NO, "no rooms", "run as root")


@pytest.mark.parametrize(
    ("facts", "can_measure", "line"),
    [
        (ROOMS, True, "ready: measurements work here"),
        (
            [*ROOMS, TOOLCHAIN],
            True,
            "ready: measurements work here; subjects that need go are unavailable, see: httpdyno subjects list",
        ),
        ([*ROOMS, LIMIT, NO_LINKS], True, "limited: measurements work, with limits: perf, tun"),
        (
            [ROOMS[0], NO_ROOM, LIMIT],
            False,
            "cannot measure: no room can be created here (network_namespaces); to fix it: run as root",
        ),
    ],
)
def test_the_facts_have_one_conclusion(facts: list[Fact], can_measure: bool, line: str) -> None:
    conclusion = conclude(facts)
    assert (conclusion.can_measure, conclusion.line) == (can_measure, line)


def test_the_last_line_is_the_conclusion(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = httpdyno("doctor")
    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith("limited: measurements work, with limits: perf, tun")
    monkeypatch.setenv("FAKE_ENGINE", "no-namespaces")
    ended = httpdyno("doctor")
    assert (ended.code, ended.err) == (1, "")
    said = "cannot measure: no room can be created here (user_namespaces); to fix it: run as root"
    assert ended.out.splitlines()[-1] == said
    assert httpdyno("doctor", "--format", "json").code == 1
