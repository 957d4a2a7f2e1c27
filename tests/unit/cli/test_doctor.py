"""`doctor`: what this machine can do, what follows, and how it is cured."""

import pytest

from doubles.command_line import Command


def test_doctor_gives_consequence_and_cure(httpdyno: Command) -> None:
    out = httpdyno("doctor").out
    assert "ok      cpus: 2" in out
    assert "limited perf: not known\n        consequence: no counters\n        cure: another machine\n" in out
    assert "no      tun: no\n        consequence: no links\n        cure: load the module\n" in out
    facts = httpdyno("doctor", "--format", "json").rows
    assert {"engine", "cpus", "go", "node", "cache folder"} <= {fact["name"] for fact in facts}
    assert all(set(fact) == {"name", "value", "ok", "consequence", "cure"} for fact in facts)
    # The engine's facts and our own say it in the same words.
    assert {fact["ok"] for fact in facts} <= {"yes", "limited", "no"}
    assert {fact["name"]: fact["ok"] for fact in facts}["engine"] == "yes"


def test_doctor_works_without_an_engine(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPDYNO_ENGINE", "/no/engine")
    ended = httpdyno("doctor")
    assert ended.code == 0
    assert "no      engine: HTTPDYNO_ENGINE=/no/engine" in ended.out
    assert "cure: make setup" in ended.out
