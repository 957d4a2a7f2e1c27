"""What a great run costs: ten million samples, from the files of its trials to its table and its report.

The bounds are the promise: 60 s and 4 GiB. The time is that of the processor, all threads together, and not that of the
clock, since other programs run beside: where nothing else runs, the clock shows less.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.crawl_files import START_NS, write_expectations, write_trial

SUBJECTS, BLOCKS, URLS = 5, 7, 285_715
SAMPLES = SUBJECTS * BLOCKS * URLS
CPU_S = 60.0
MEMORY_BYTES = 4 * 1024**3

RUN = """
import json, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from httpdyno.cli.page import write_report
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Reference, Remains, judge_crawl, read_arrivals, read_expectations
from httpdyno.model import Condition, KnownFailure, Subject, SubjectKind, TrialPlan, Workload
from httpdyno.store import Machine, Manifest, RunWriter, WebIdentity, open_run

root, (subjects, blocks, start) = Path(sys.argv[1]), map(int, sys.argv[2:])
spent = {}

def spend(on):
    total = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    spent[on] = spent.get(on, 0) + total - sum(spent.values())

spend("imports")
known = (KnownFailure("stall_tls", "hangs"),)

def client(i):
    return Subject(f"client-{i}", SubjectKind.CLIENT, "X", str(i), root, ("x",), known_failures=known)

condition = Condition("bench", "plain", Workload(()), concurrency=100)
machine, web = Machine("Linux", "6.1", "x86_64"), WebIdentity("plain", 1)
writer = RunWriter.create(
    root / "runs", Manifest("bench", ("httpdyno",), "1", datetime.now(UTC), machine, subjects * blocks, webs=(web,))
)
expectations = read_expectations(root / "expect.csv")
spend("expectations")
for number in range(subjects * blocks):
    block, position = divmod(number, subjects)
    plan = TrialPlan(number, block, position, client(position), condition)
    began = start - block * 10**8
    subject = {
        "exit_code": 0, "started_at_ns": began, "ended_at_ns": began + 900 * 10**9, "peak_memory_bytes": 10**8,
        "cpu_user_ns": 9 * 10**9, "cpu_system_ns": 10**9, "memory": [[i * 10**8, i * 10**6] for i in range(200)],
    }
    throughput = [[(i + 1) * 2 * 10**8, 3000] for i in range(90)]
    report = {"version": 1, "outcome": "exited", "subject": subject, "throughput": throughput}
    folder = root / plan.subject.id
    with (folder / "output").open("rb") as output:
        reference = Reference(expectations, read_arrivals(folder / "arrivals.csv"))
        judged = judge_crawl(plan, Remains(report, output), reference)
    spend("judging")
    writer.add(judged.trial, judged.samples)
    spend("storing")
folder = writer.close(complete=True, ended_at=datetime.now(UTC))
spend("gathering")
run = open_run(folder)
table = definition_of("bench").table(run.records())
spend("table")
page = write_report(folder)
spend("report")
print(json.dumps({
    "spent_s": spent,
    "memory_bytes": 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]),
    "right": [trial.tally.right for trial in run.records()],
    "subjects": sorted(table.values("subject")),
    "samples": run.samples().select("verdict").collect().height,
    "page": str(page),
}))
"""


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """Write a list, and what each subject makes of it: the same in each of its trials."""
    write_expectations(tmp_path / "expect.csv", URLS)
    for subject in range(SUBJECTS):
        folder = tmp_path / f"client-{subject}"
        folder.mkdir()
        write_trial(folder, URLS, seed=subject)
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_ten_million_samples_are_judged_stored_and_reported_within_60_s_and_4_gib(files: Path) -> None:
    arguments = [str(files), *map(str, (SUBJECTS, BLOCKS, START_NS))]
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    cpu_s = sum(result["spent_s"].values())
    parts = ", ".join(f"{what} {seconds:.1f}" for what, seconds in result["spent_s"].items())
    print(f"{SAMPLES} samples: {cpu_s:.1f} s of CPU ({parts}), {result['memory_bytes'] / 2**20:.0f} MiB")
    assert result["samples"] == SAMPLES
    assert result["right"] == [URLS - 2 * -(-URLS // 1000)] * SUBJECTS * BLOCKS
    assert result["subjects"] == [f"client-{subject}" for subject in range(SUBJECTS)]
    assert "client-0" in Path(result["page"]).read_text()
    assert cpu_s < CPU_S
    assert result["memory_bytes"] < MEMORY_BYTES
