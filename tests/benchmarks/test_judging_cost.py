"""What judging costs: a million samples on one core, from the files of a trial to its record.

The bound is the promise: 5 s of CPU time and 1 GiB. CPU time and not the clock, since other programs run beside.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doubles.crawl_files import write_expectations, write_trial

SAMPLES = 1_000_000
CPU_S = 5.0
MEMORY_BYTES = 1024**3

JUDGE = """
import json, resource, sys
from pathlib import Path
from httpdyno.judge import Reference, Remains, judge_crawl, read_arrivals, read_expectations
from httpdyno.model import Condition, KnownFailure, Subject, SubjectKind, TrialPlan, Workload
folder = Path(sys.argv[1])
cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before = cpu()
known = (KnownFailure("stall_tls", "hangs"),)
client = Subject("x", SubjectKind.CLIENT, "X", "x", folder, ("x",), known_failures=known)
plan = TrialPlan(0, 0, 0, client, Condition("bench", "plain", Workload(()), concurrency=100))
start = 1729512000 * 10**9
ended = {"exit_code": 0, "started_at_ns": start, "ended_at_ns": start + 900 * 10**9}
report = {"version": 1, "outcome": "exited", "subject": ended}
with (folder / "output").open("rb") as output:
    reference = Reference(read_expectations(folder / "expect.csv"), read_arrivals(folder / "arrivals.csv"))
    judged = judge_crawl(plan, Remains(report, output), reference)
print(json.dumps({
    "cpu_s": cpu() - before,
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


def test_a_million_samples_are_judged_within_5_s_of_one_core_and_1_gib(files: Path) -> None:
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(files)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(f"{SAMPLES} samples: {result['cpu_s']:.2f} s of CPU, {result['memory_bytes'] / 2**20:.0f} MiB")
    assert (result["outcome"], result["wrong_status"], result["wrong_time"]) == ("ok", 1000, 1000)
    assert result["right"] == SAMPLES - 2000
    assert result["cpu_s"] < CPU_S
    assert result["memory_bytes"] < MEMORY_BYTES
