"""A few kills of what makes rooms and runs; `scripts/endure kills` makes hundreds, of every verb."""

import pytest

from endurance import kills
from httpdyno.lab.engine import Engine

VERBS = ("bench", "capacity", "load", "room", "fetch")
# A hang is found by the kills themselves, which allow each command ten minutes.
pytestmark = pytest.mark.timeout(1800)


def test_kills_of_each_part_once_it_is_there_leave_nothing_and_tear_nothing(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine.path.exists()
    status = kills.run(4, seed=8, lanes=1, only=VERBS, told_s=0.0)
    assert status == 0, capsys.readouterr().out


@pytest.mark.measured
def test_kills_at_random_moments_leave_nothing_and_tear_nothing(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine.path.exists()
    status = kills.run(8, seed=8, lanes=2, only=VERBS, told_s=2.0)
    assert status == 0, capsys.readouterr().out
