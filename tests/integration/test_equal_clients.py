"""One client under eleven names: how often the ranking calls equals different."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from calibration.all_pairs import LEVEL, relabelled_alarms, run_wide, share_interval
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Direction, Metric, Outcome, Trial
from httpdyno.stats import FloatArray
from httpdyno.store import open_run
from httpdyno.subjects.catalogue import read_catalogue

NAMES = [f"equal-{number:02}" for number in range(11)]
BLOCKS = 6
RELABELLINGS = 2000
LONGEST_S = 1800
"""Only against hangs: the run takes four minutes, and six on a slow machine."""


@pytest.fixture
def equal_clients(tmp_path: Path) -> Path:
    """Copies of the folder of `native`."""
    (native,) = read_catalogue().select(["native"])
    for name in NAMES:
        shutil.copytree(native.folder, tmp_path / "clients" / name)
    return tmp_path / "clients"


@pytest.mark.measured
def test_one_client_under_eleven_names_is_rarely_called_different(
    start: Callable[..., "subprocess.Popen[str]"],
    equal_clients: Path,
    tmp_path: Path,
    figure: Callable[[str, float, str], None],
) -> None:
    running = start(
        *("bench", *NAMES, "--subjects", str(equal_clients), "--repeat", str(BLOCKS), "--limit", "300"),
        *("--concurrency", "50", "--timeout", "2", "--format", "json", "--out", str(tmp_path / "runs")),
    )
    _, err = running.communicate(timeout=LONGEST_S)
    assert running.returncode == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    trials = open_run(folder).records()
    definition = definition_of("bench")
    alarms = {}
    for metric in definition.presentation.metrics:
        logs = None if metric.better is Direction.NEITHER else logarithms(trials, metric)
        if logs is None:
            continue
        alarms[metric.name] = relabelled_alarms(np.random.default_rng(), logs, RELABELLINGS)
        low, high = share_interval(alarms[metric.name], RELABELLINGS)
        found = int(run_wide(logs[None]).sum())
        print(
            f"{metric.name}: {alarms[metric.name]:.1%} of relabellings [{low:.1%} - {high:.1%}], {found} pairs as run"
        )
        figure(f"relabellings with a false alarm by {metric.name}", 100 * alarms[metric.name], "%")
    low, _ = share_interval(alarms[definition.presentation.ranking_metric.name], RELABELLINGS)
    assert low <= LEVEL


def logarithms(trials: Sequence[Trial], metric: Metric) -> FloatArray | None:
    """Return the logarithms of a metric, a row for each name; None where a value is 0, or the same in all trials.

    Disturbed trials count: what disturbs a block falls on any of its names with the same chance.
    """
    figures: dict[str, dict[int, float]] = {name: {} for name in NAMES}
    for trial in trials:
        figure = metric.figure(trial)
        if trial.outcome is Outcome.OK and figure is not None:
            figures[trial.subject][trial.block] = float(figure)
    if not all(figures.values()) or min(min(of.values()) for of in figures.values()) <= 0:
        return None
    blocks = sorted({block for of in figures.values() for block in of})
    logs = np.log([[of.get(block, np.nan) for block in blocks] for of in figures.values()])
    return logs if np.nanmax(logs) > np.nanmin(logs) else None
