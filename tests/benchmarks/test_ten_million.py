"""Cost of a large run: ten million samples, from the files of its trials to its table and its report.

The yardstick is the CPU time of polars for reading the same files in the same process, as often as they are judged, and
the size of the files of one trial. CPU time of all threads and not elapsed time, since other programs run at the same
time.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.crawl_files import START_NS, write_expectations, write_trial
from httpdyno.subjects.engine_program import find_engine

pytestmark = pytest.mark.measured

SUBJECTS, BLOCKS, URLS = 5, 7, 285_715
SAMPLES = SUBJECTS * BLOCKS * URLS
READINGS = 16.0
"""CPU time, in readings of all files."""
SIZES = 30.0
"""Memory, as a multiple of the size of the files of a trial."""

RUN = """
import json, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from httpdyno.cli.output import write_report
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Reference, TrialArtifacts, judge_crawl, read_arrivals, read_expectations, read_lines
from httpdyno.judge.validity import RULES
from httpdyno.lab.engine import Engine
from httpdyno.model import Condition, KnownFailure, Subject, SubjectKind, TrialPlan, Workload
from httpdyno.store import Machine, Manifest, RunWriter, WebIdentity, open_run

root, engine, (subjects, blocks, start) = Path(sys.argv[1]), Engine(Path(sys.argv[2])), map(int, sys.argv[3:])
spent = {}

def spend(on):
    total = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent[on] = spent.get(on, 0) + total - sum(spent.values())

import polars
spend("imports")
RAW = {"quote_char": None, "truncate_ragged_lines": True}
for path in sorted(root.glob("client-*/*")) * blocks:
    polars.read_csv(path, has_header=path.name != "output", infer_schema=False, **RAW)
spend("yardstick")
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
    reference = Reference(expectations, read_arrivals(folder / "arrivals.csv"))
    with (folder / "lines").open("wb") as rows:
        engine.write_lines(folder / "output", rows, killed=False)
    artifacts = TrialArtifacts(report, read_lines(folder / "lines"))
    judged = judge_crawl(plan, artifacts, reference, rules=RULES)
    spend("judging")
    writer.add(judged.trial, judged.samples)
    spend("storing")
folder = writer.close(complete=True, ended_at=datetime.now(UTC))
spend("gathering")
run = open_run(folder)
table = definition_of("bench").presentation.table(run.records())
spend("table")
page = write_report(run)
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
    """Write a list, and each subject's results for it: the same in each of its trials."""
    write_expectations(tmp_path / "expect.csv", URLS)
    for subject in range(SUBJECTS):
        folder = tmp_path / f"client-{subject}"
        folder.mkdir()
        write_trial(folder, URLS, seed=subject)
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_ten_million_samples_cost_little_more_than_to_read_them(
    files: Path, figure: Callable[[str, float, str], None]
) -> None:
    arguments = [*map(str, (files, find_engine(), SUBJECTS, BLOCKS, START_NS))]
    size = sum(path.stat().st_size for path in (files / "client-0").iterdir())
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    spent_s = dict(result["spent_s"])
    yardstick_s = spent_s.pop("yardstick")
    readings, sizes = sum(spent_s.values()) / yardstick_s, result["memory_bytes"] / size
    parts = ", ".join(f"{what} {seconds:.1f}" for what, seconds in spent_s.items())
    print(f"{SAMPLES} samples: {parts} s of CPU, {yardstick_s:.1f} to read, {result['memory_bytes'] / 2**20:.0f} MiB")
    figure("CPU time of ten million samples", readings, "readings of the files")
    figure("memory of ten million samples", sizes, "sizes of a trial's files")
    assert result["samples"] == SAMPLES
    assert result["right"] == [URLS - 2 * -(-URLS // 1000)] * SUBJECTS * BLOCKS
    assert result["subjects"] == [f"client-{subject}" for subject in range(SUBJECTS)]
    assert "client-0" in Path(result["page"]).read_text()
    assert readings < READINGS
    assert sizes < SIZES
