"""Cost of judging: a million samples on one core, from the files of a trial to its record.

The yardstick is the CPU time of polars for reading the same files in the same process, and their size. CPU time and not
elapsed time, since other programs run at the same time.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.crawl_files import write_expectations, write_trial
from httpdyno.subjects.engine_program import find_engine

pytestmark = pytest.mark.measured

SAMPLES = 1_000_000
READINGS = 5.0
"""CPU time, in readings of the files."""
SIZES = 4.4
"""Memory, as a multiple of the size of the files."""

JUDGE = """
import json, resource, sys
from pathlib import Path
from httpdyno.judge import Reference, TrialArtifacts, judge_crawl, read_arrivals, read_expectations, read_lines
from httpdyno.judge.validity import RULES
from httpdyno.lab.engine import Engine
from httpdyno.model import Condition, KnownFailure, Subject, SubjectKind, TrialPlan, Workload
folder = Path(sys.argv[1])
cpu = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
before = cpu()
import polars
RAW = {"quote_char": None, "truncate_ragged_lines": True}
for name in ("expect.csv", "arrivals.csv", "output"):
    polars.read_csv(folder / name, has_header=name != "output", infer_schema=False, **RAW)
yardstick_s = cpu() - before
before = cpu()
known = (KnownFailure("stall_tls", "hangs"),)
client = Subject("x", SubjectKind.CLIENT, "X", "x", folder, ("x",), known_failures=known)
plan = TrialPlan(0, 0, 0, client, Condition("bench", "plain", Workload(()), concurrency=100))
start = 1729512000 * 10**9
ended = {"exit_code": 0, "started_at_ns": start, "ended_at_ns": start + 900 * 10**9}
report = {"version": 1, "outcome": "exited", "subject": ended}
reference = Reference(read_expectations(folder / "expect.csv"), read_arrivals(folder / "arrivals.csv"))
with (folder / "lines").open("wb") as rows:
    Engine(Path(sys.argv[2])).write_lines(folder / "output", rows, killed=False)
lines = read_lines(folder / "lines")
judged = judge_crawl(plan, TrialArtifacts(report, lines), reference, rules=RULES)
print(json.dumps({
    "cpu_s": cpu() - before,
    "yardstick_s": yardstick_s,
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    "memory_bytes": 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]),
    "right": judged.trial.tally.right,
    "wrong_status": judged.trial.tally.wrong_status,
    "wrong_time": judged.trial.tally.wrong_time,
    "outcome": judged.trial.outcome,
}))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("million")
    write_expectations(folder / "expect.csv", SAMPLES)
    write_trial(folder, SAMPLES)
    return folder


def test_a_million_samples_cost_little_more_than_to_read_them(
    files: Path, figure: Callable[[str, float, str], None]
) -> None:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    argv = [sys.executable, "-c", JUDGE, str(files), str(find_engine())]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    size = sum(path.stat().st_size for path in files.iterdir())
    readings, sizes = result["cpu_s"] / result["yardstick_s"], result["memory_bytes"] / size
    print(f"{SAMPLES} samples: {result['cpu_s']:.2f} s of CPU, {result['memory_bytes'] / 2**20:.0f} MiB")
    figure("CPU time to judge a million samples", readings, "readings of the files")
    figure("memory to judge a million samples", sizes, "sizes of the files")
    assert (result["outcome"], result["wrong_status"], result["wrong_time"]) == ("ok", 1000, 1000)
    assert result["right"] == SAMPLES - 2000
    assert readings < READINGS
    assert sizes < SIZES
