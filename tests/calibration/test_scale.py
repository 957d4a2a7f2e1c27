"""The model of `plan --machines` against 1, 2 and 3 machines that have a bounded CPU share each, and share a server.

One machine is measured first; the model computes the rates of 1 to 3 from its CPU time and the bytes of an answer.
"""

import csv
import datetime
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from doubles.separate_machines import SERVER_ADDRESS, Machines, separate_machines
from doubles.two_machines import ip
from httpdyno.judge.machine_plan import AnswerFigures, Load, Machine
from httpdyno.judge.scale_plan import ScalePlan, Shared, plan_scale
from httpdyno.subjects.engine_program import find_engine

pytestmark = pytest.mark.measured

SERVER: Final = f"{SERVER_ADDRESS}:8080"
COUNT: Final = 3
CPUS: Final = 0.1
PERIOD_US: Final = 10_000
"""Period of the CPU share: a machine is awake for a tenth of each, and all waits of a fetch are longer."""
NEAR: Final = 0.2
"""Largest relative error of a plan from which a number of machines can be chosen."""
PATIENCE_S: Final = 300
AT_ONCE: Final = 64
PAGES: Final = 100
PILOTS: Final = 3

Record = Callable[[str, object], None]


@pytest.fixture
def machines() -> Iterator[Machines]:
    """Make the machines, and an origin on the server's."""
    with separate_machines(COUNT, CPUS, PERIOD_US) as made:
        argv = [*made.at_server, str(find_engine()), "origin", "--web", "plain", "--listen", SERVER]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            process.stderr.readline()
            yield made
            process.terminate()


def write_list(folder: Path, path: str, count: int) -> None:
    """Write a list with 100 pages of each host, ``AT_ONCE`` hosts in turns, so that connections are kept.

    With a connection for a few URLs, local ports would be the limit: each waits for a minute after its connection.
    """
    hosts = [f"www.site{number}.example" for number in range(count // PAGES)]
    groups = [hosts[place : place + AT_ONCE] for place in range(0, len(hosts), AT_ONCE)]
    lines = [f"http://{host}{path}?{page}\n" for group in groups for page in range(PAGES) for host in group]
    (folder / "urls.txt").write_text("".join(lines), encoding="utf-8")


def fetched(machines: Machines, folder: Path, count: int) -> Path:
    """Fetch the list on some machines; return the folder of the shards."""
    crawl = folder / f"crawl-{len(list(folder.glob('crawl-*')))}"
    lists, started = f"lists-of-{crawl.name}", []
    split = [str(find_engine()), "split", "urls.txt", "--shards", str(count), "--output", lists]
    subprocess.run(split, cwd=folder, check=True, timeout=PATIENCE_S)
    for number, machine in enumerate(machines.machines[:count], 1):
        argv = [*machine.at, str(find_engine()), "fetch", "--shard", f"{number}/{count}", "--from", lists, "--quiet"]
        options = ["--into", crawl.name, "--no-sync", "--connect-to", f"::{SERVER}", "-c", str(AT_ONCE)]
        started.append(subprocess.Popen([*argv, *options], cwd=folder, stdin=subprocess.DEVNULL))
    for process in started:
        assert process.wait(PATIENCE_S) == 0
    return crawl


def rate_of(crawl: Path) -> float:
    """Return the answers a second while all machines fetch."""
    ends = []
    for path in crawl.glob("shard-*/rows.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            ends.append(sorted(end_s(row) for row in csv.reader(file)))
    begin, end = max(times[0] for times in ends), min(times[-1] for times in ends)
    return sum(begin <= time <= end for times in ends for time in times) / (end - begin)


def end_s(row: list[str]) -> float:
    return datetime.datetime.fromisoformat(row[2]).timestamp() + float(row[3]) / 1000


def received_bytes(machines: Machines) -> int:
    """Return the bytes that the first machine has received, with all headers."""
    text = subprocess.run(
        ["ip", "-n", machines.machines[0].namespace, "-json", "-statistics", "link", "show", "cable"],
        check=True,
        capture_output=True,
    ).stdout
    return int(json.loads(text)[0]["stats64"]["rx"]["bytes"])


def figures_of_one(machines: Machines, folder: Path) -> list[AnswerFigures]:
    """Measure one machine some times."""
    found = []
    for _ in range(PILOTS):
        before = received_bytes(machines)
        (path,) = fetched(machines, folder, 1).glob("shard-*/report-00001.json")
        received = received_bytes(machines) - before
        report = json.loads(path.read_text(encoding="utf-8"))
        urls = report["statuses"]["200"]
        figures = AnswerFigures(
            cpu_ms=1000 * report["cpu_s"] / urls,
            time_ms=report["phases"]["total"]["mean_ns"] / 1e6,
            received_bytes=received / urls,
            requests=report["requests"] / urls,
            connections=report["connections"]["opened"] / urls,
            handshake_round_trips=0.0,
            memory_bytes=0.0,
            concurrency=AT_ONCE,
            cpus=1,
        )
        found.append(figures)
    return found


def planned(of_one: list[AnswerFigures], **shared: float) -> ScalePlan:
    return plan_scale(of_one, Load(1e6), Machine(CPUS, 1e12, 1e12), Shared(**shared))


def compare(name: str, plan: ScalePlan, measured: list[float], record_property: Record) -> None:
    errors = []
    for count, rate in enumerate(measured, 1):
        expected = plan.rate(count).value
        errors.append(expected / rate - 1)
        text = f"{expected:.0f} planned ({plan.limit(count)}), {rate:.0f} measured, {expected / rate:.2f}"
        record_property(f"{name}, {count} machines", text)
        print(f"{name}, {count} machines: {text}")
    assert all(abs(error) < NEAR for error in errors), errors


def test_the_rate_grows_with_the_machines(machines: Machines, tmp_path: Path, record_property: Record) -> None:
    write_list(tmp_path, "/plain", 100_000)
    plan = planned(figures_of_one(machines, tmp_path))
    measured = [rate_of(fetched(machines, tmp_path, count)) for count in (1, 2, 3)]
    compare("CPU", plan, measured, record_property)


def test_a_shared_link_limits_it(machines: Machines, tmp_path: Path, record_property: Record) -> None:
    write_list(tmp_path, "/bytes/20480", 30_000)
    of_one = figures_of_one(machines, tmp_path)
    bits_per_s = 1.5 * planned(of_one).of_one.value * 8 * of_one[0].received_bytes
    limiter = ["tbf", "rate", f"{bits_per_s / 1000:.0f}kbit", "burst", "256kb", "latency", "50ms"]
    ip("netns", "exec", machines.server_namespace, "tc", "qdisc", "add", "dev", "switch", "root", *limiter)
    measured = [rate_of(fetched(machines, tmp_path, count)) for count in (1, 2, 3)]
    compare("shared link", planned(of_one, bandwidth_bits_per_s=bits_per_s), measured, record_property)
