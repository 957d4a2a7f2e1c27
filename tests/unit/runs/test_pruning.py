"""Runs beyond a limit, which are removed as a whole."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.runs.stored_runs import KeptRun, beyond, remove, stored_runs
from httpdyno.store.folder import MANIFEST, PINNED, RunLock

NOW = datetime(2026, 11, 27, tzinfo=UTC)
DAY = timedelta(days=1)


def run(name: str, days: int, size_bytes: int = 100, *, stays: bool = False) -> KeptRun:
    return KeptRun(Path(name), NOW - days * DAY, size_bytes, stays)


RUNS = (run("b", 2), run("a", 1), run("large", 3, 1000), run("pinned", 40, stays=True), run("old", 50, 1))


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        ({}, {}),
        ({"keep": 4}, {}),
        ({"keep": 2}, {"large": "not one of the newest 2", "old": "not one of the newest 2"}),
        ({"keep": 0}, dict.fromkeys(("a", "b", "large", "old"), "not one of the newest 0")),
        ({"older": 30 * DAY}, {"old": "started 50 days ago"}),
        (
            {"size_bytes": 500},
            dict.fromkeys(("large", "old"), "does not fit into 500 B with the newer ones"),
        ),
        (
            {"keep": 1, "older": 2 * DAY},
            {"b": "not one of the newest 1", "large": "started 3 days ago", "old": "started 50 days ago"},
        ),
    ],
)
def test_a_run_beyond_a_limit_goes(limits: dict[str, Any], gone: dict[str, str]) -> None:
    assert {one.folder.name: reason for one, reason in beyond(RUNS, now=NOW, **limits)} == gone


_RUNS = st.lists(st.builds(run, st.just("x"), st.integers(0, 99), st.integers(0, 99), stays=st.booleans()))
_LIMITS = st.fixed_dictionaries(
    {
        "keep": st.none() | st.integers(0, 9),
        "older": st.none() | st.builds(lambda days: days * DAY, st.integers(0, 99)),
        "size_bytes": st.none() | st.integers(0, 999),
    }
)


@given(_RUNS, _LIMITS)
def test_what_is_left_is_within_every_limit(runs: list[KeptRun], limits: dict[str, Any]) -> None:
    gone = [one for one, _ in beyond(runs, now=NOW, **limits)]
    left = [one for one in runs if not any(one is other for other in gone)]
    counted = [one for one in left if not one.stays]
    assert not any(one.stays for one in gone)
    assert limits["keep"] is None or len(counted) <= limits["keep"]
    assert limits["older"] is None or all(NOW - one.started_at <= limits["older"] for one in counted)
    assert limits["size_bytes"] is None or sum(one.size_bytes for one in counted) <= limits["size_bytes"]


def test_a_run_goes_whole_and_one_that_is_made_stays(tmp_path: Path) -> None:
    gone, made, pinned = (make_run(tmp_path, [trial("client", 0)], name=name) for name in ("gone", "made", "pinned"))
    (pinned / PINNED).touch()
    (tmp_path / "foreign").mkdir()
    (tmp_path / ".earlier.removed").mkdir()
    before = {one.folder.name: one for one in stored_runs(tmp_path)}
    assert {name: one.stays for name, one in before.items()} == {"gone": False, "made": False, "pinned": True}
    assert before["gone"].size_bytes > (gone / MANIFEST).stat().st_size
    lock = RunLock.take(made)
    assert lock
    assert [one.folder.name for one in remove([before["gone"], before["made"]])] == ["made"]
    assert {path.name for path in tmp_path.iterdir()} == {"made", "pinned", "foreign"}
    assert {one.folder.name: one.stays for one in stored_runs(tmp_path)} == {"made": True, "pinned": True}
    lock.release()
