"""A few random kills of what makes rooms and runs; `scripts/endure kills` makes hundreds, of every verb."""

import pytest

from endurance import kills
from httpdyno.lab.engine import Engine


# One that hangs is to be found by the kills themselves, who give each command ten minutes.
@pytest.mark.timeout(1800)
def test_random_kills_leave_nothing_and_tear_nothing(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert engine.path.exists()
    verbs = ("bench", "capacity", "load", "room", "fetch")
    status = kills.run(8, seed=8, lanes=2, only=verbs, told_s=2.0)
    assert status == 0, capsys.readouterr().out
