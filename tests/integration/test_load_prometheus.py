"""The metrics that `httpdyno load --prometheus` serves, as the parsers of Prometheus' own client read them."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from httpdyno.lab.engine import Engine

PATIENCE_S = 300
QUOTED = r'home "main" \ one'
PATHS = {QUOTED: "/plain", "missing": "/status/404", "/bytes/{{random 1 9}}": "/bytes/{{random 1 9}}"}
"""Paths by the label of their requests."""


@pytest.fixture(scope="module")
def origin(engine: Engine) -> Iterator[str]:
    """A web on a port of its own; return its address."""
    argv = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def scrape(port: int, accept: str) -> dict[str, Metric]:
    """Return the metrics by name."""
    request = Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urlopen(request, timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
        is_open = answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert is_open == ("openmetrics" in accept)
    return {metric.name: metric for metric in (read_openmetrics if is_open else read_text)(text)}


def values(metric: Metric, suffix: str, *keys: str) -> dict[tuple[str, ...], float]:
    """Return the samples of a name by the values of their labels."""
    return {
        tuple(sample.labels[key] for key in keys): sample.value
        for sample in metric.samples
        if sample.name == f"{metric.name}{suffix}"
    }


def test_each_label_has_counts_and_times(engine: Engine, origin: str, tmp_path: Path) -> None:
    lines = [
        {"url": f"{origin.rstrip('/')}{path}", **({} if path == label else {"label": label})}
        for label, path in PATHS.items()
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [engine.path, "load", "--requests-file", "mixed.jsonl", "-c", "2", "-d", "600s", "--rate", "60"]
    argv += ["--no-store", "--format", "ndjson", "--prometheus", f"127.0.0.1:{port}"]
    with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        # At least the first second with answers is in the metrics when the line of the next one is written.
        while json.loads(process.stdout.readline())["requests"] < len(PATHS):
            pass
        process.stdout.readline()
        first, later = scrape(port, "text/plain"), scrape(port, "application/openmetrics-text;version=1.0.0")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    report = json.loads(out.splitlines()[-1])
    assert (process.returncode, report["type"]) == (130, "report")
    status = {label: "404" if label == "missing" else "200" for label in PATHS}
    for metrics in (first, later):
        requests = values(metrics["httpdyno_requests"], "_total", "label", "status")
        assert set(requests) == set(status.items())
        times = metrics["httpdyno_response_time_seconds"]
        counts = values(times, "_count", "label")
        buckets = values(times, "_bucket", "label", "le")
        failed = values(metrics["httpdyno_failed_answers"], "_total", "label")
        for label in PATHS:
            count = requests[label, status[label]]
            assert 0 < count <= report[f"{label}.requests"]
            assert (counts[label,], failed[label,]) == ((0, count) if label == "missing" else (count, 0))
            rising = [value for (of, _), value in buckets.items() if of == label]
            assert (len(rising), rising, rising[-1]) == (62, sorted(rising), counts[label,])
        assert not metrics["httpdyno_errors"].samples
    sent = [values(metrics["httpdyno_requests_sent"], "_total") for metrics in (first, later)]
    assert 0 < sent[0][()] <= sent[1][()]


def test_errors_have_the_label_of_their_request(engine: Engine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed, socket.create_server(("127.0.0.1", 0)) as free:
        nothing, port = closed.getsockname()[1], free.getsockname()[1]
    # A server that never answers keeps the load alive; the other requests find no server.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        lines = [
            {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/", "label": "silent"},
            {"url": f"http://127.0.0.1:{nothing}/", "label": "closed"},
        ]
        (tmp_path / "mixed.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        argv = [engine.path, "load", "--requests-file", "mixed.jsonl", "-c", "4", "-d", "600s", "--rate", "20"]
        argv += ["--timeout", "200ms", "--no-store", "--format", "ndjson", "--prometheus", f"127.0.0.1:{port}"]
        with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout
            kinds: set[tuple[str, ...]] = set()
            while not {("silent", "HeadTimeout"), ("closed", "ConnectionRefused")} <= kinds:
                assert process.stdout.readline(), "the load has ended"
                kinds = set(values(scrape(port, "text/plain")["httpdyno_errors"], "_total", "label", "kind"))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
    assert {label for label, _ in kinds} == {"silent", "closed"}
