"""The metrics that `httpdyno load --otlp` pushes, as OpenTelemetry's own message types read them."""

import http.server
import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from httpdyno.lab.engine import Engine

PATIENCE_S = 300
CUMULATIVE = 2


class Receiver:
    """A receiver that answers with the statuses of a list, then with 200."""

    def __init__(self, statuses: list[int], tls: ssl.SSLContext | None = None) -> None:
        self.pushes: list[tuple[str, dict[str, str], ExportMetricsServiceRequest]] = []
        self.statuses = statuses
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.pushes.append((self.path, headers, ExportMetricsServiceRequest.FromString(content)))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                response = ExportMetricsServiceResponse()
                if status == 299:
                    response.partial_success.rejected_data_points = 3
                    response.partial_success.error_message = "too many series"
                body = response.SerializeToString()
                self.send_response(200 if status == 299 else status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receivers() -> Iterator[Any]:
    """Return a function that starts a receiver."""
    started: list[Receiver] = []

    def start(*statuses: int, tls: ssl.SSLContext | None = None) -> Receiver:
        started.append(Receiver(list(statuses), tls))
        return started[-1]

    yield start
    for receiver in started:
        receiver.server.shutdown()
        receiver.server.server_close()


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


def load(engine: Engine, folder: Path, *words: str, **variables: str) -> tuple[int, list[dict[str, Any]], str]:
    """Run a load; return its exit code, its reports and its standard error."""
    ended = subprocess.run(
        [engine.path, "load", *words, "--format", "json", "--no-store"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return ended.returncode, json.loads(ended.stdout or "[]"), ended.stderr


def metrics(push: ExportMetricsServiceRequest) -> dict[str, Any]:
    """Return the metrics of a push by name."""
    (resource,) = push.resource_metrics
    (scope,) = resource.scope_metrics
    assert scope.scope.name == "httpdyno"
    return {metric.name: metric for metric in scope.metrics}


def attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes of a point or a resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}


def counts(metric: Any, key: str) -> dict[Any, int]:
    """Return the values of a counter by an attribute."""
    return {attributes(point).get(key): point.as_int for point in metric.sum.data_points}


def test_the_last_push_agrees_with_the_report(engine: Engine, origin: str, tmp_path: Path, receivers: Any) -> None:
    receiver = receivers()
    code, (report,), error = load(
        engine,
        tmp_path,
        origin,
        *("-n", "300", "--rate", "300", "-c", "2", "--warm-up", "1s", "--otlp", receiver.url),
        OTEL_METRIC_EXPORT_INTERVAL="400",
        OTEL_EXPORTER_OTLP_HEADERS="X-Key=a%20b,X-Other=c",
        OTEL_RESOURCE_ATTRIBUTES="service.name=cart,team=a%2Cb",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1",
    )
    assert (code, error) == (0, "")
    path, headers, push = receiver.pushes[-1]
    assert path == "/v1/metrics"
    assert (headers["content-type"], headers["x-key"], headers["x-other"]) == ("application/x-protobuf", "a b", "c")
    resource = attributes(push.resource_metrics[0].resource)
    assert (resource["service.name"], resource["team"]) == ("cart", "a,b")
    assert resource["service.instance.id"]
    found = metrics(push)
    assert counts(found["httpdyno.requests"], "http.response.status_code") == {200: report["requests"]}
    for name, value in (
        ("requests_sent", report["sent"]),
        ("content", report["content_bytes"]),
        ("failed_answers", 0),
    ):
        assert counts(found[f"httpdyno.{name}"], "") == {None: value}
    duration = found["http.client.request.duration"]
    histogram = duration.exponential_histogram
    assert (duration.unit, histogram.aggregation_temporality) == ("s", CUMULATIVE)
    (point,) = histogram.data_points
    assert (attributes(point)["server.port"], attributes(point)["http.request.method"]) == (
        int(origin.rstrip("/").rsplit(":", 1)[1]),
        "GET",
    )
    assert point.count == point.zero_count + sum(point.positive.bucket_counts) == report["requests"]
    assert point.sum == pytest.approx(report["mean"] * report["requests"] / 1e3, rel=0.01)
    # The largest time is in the last bucket.
    base = 2 ** (2**-point.scale)
    last = point.positive.offset + len(point.positive.bucket_counts)
    assert base ** (last - 1) * 0.998 < report["max"] / 1e3 <= base**last * 1.002
    (lag,) = found["httpdyno.send_lag"].exponential_histogram.data_points
    assert lag.count == report["sent"]
    (rate,) = found["httpdyno.target_requests"].gauge.data_points
    assert rate.as_double == 300
    assert 0 < point.start_time_unix_nano < point.time_unix_nano
    sent = [counts(metrics(push)["httpdyno.requests_sent"], "")[None] for _, _, push in receiver.pushes]
    assert sent == sorted(sent)


def test_each_trial_is_counted_alone(engine: Engine, origin: str, tmp_path: Path, receivers: Any) -> None:
    receiver = receivers()
    words = ("-n", "20", "-c", "1", "--repeat", "3", "--otlp", f"{receiver.url}/own/path?key=1")
    code, reports, _ = load(engine, tmp_path, origin, *words)
    assert (code, len(reports)) == (0, 3)
    path, _, push = receiver.pushes[-1]
    assert path == "/own/path?key=1"
    assert counts(metrics(push)["httpdyno.requests_sent"], "httpdyno.trial") == {0: 20, 1: 20, 2: 20}


def test_a_push_is_repeated_where_the_protocol_says_so(
    engine: Engine, origin: str, tmp_path: Path, receivers: Any
) -> None:
    again, refused, partial = receivers(503, 429), receivers(400, 200), receivers(299)
    for receiver, pushes, reason in (
        (again, 3, ""),
        (refused, 1, "1 of 1 pushes failed, also the last: status 400; the receiver lacks the latest values\n"),
        (partial, 1, "the receiver refused 3 values: too many series; the receiver lacks the latest values\n"),
    ):
        code, (report,), error = load(engine, tmp_path, origin, "-n", "10", "-c", "1", "--otlp", receiver.url)
        assert (code, report["requests"], len(receiver.pushes)) == (0, 10, pushes)
        assert error.endswith(reason)
        assert error.count("\n") == bool(reason)


def test_a_receiver_that_is_down_does_not_end_the_load(engine: Engine, origin: str, tmp_path: Path) -> None:
    words = ("-d", "2500ms", "--rate", "50", "-c", "1", "--otlp", "http://127.0.0.1:9")
    code, (report,), error = load(engine, tmp_path, origin, *words, OTEL_METRIC_EXPORT_INTERVAL="100")
    assert (code, report["errors"]) == (0, 0)
    last = error.splitlines()[-1]
    assert "pushes failed, also the last: ConnectionRefused" in last
    assert len(error.splitlines()) <= 2


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a private authority (ca.pem), and its certificate of 127.0.0.1 (receiver.pem)."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing (Debian: openssl)")
    folder = tmp_path_factory.mktemp("certificates")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n", "utf-8")
    for line in (
        f"req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority",
        f"req {key} -keyout receiver.key -out receiver.csr -subj /CN=receiver",
        "x509 -req -in receiver.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out receiver.pem",
    ):
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)
    return folder


def test_a_push_over_tls_needs_a_trusted_certificate(
    engine: Engine, origin: str, tmp_path: Path, receivers: Any, certificates: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / "receiver.pem", certificates / "receiver.key")
    receiver = receivers(tls=tls)
    words = (origin, "-n", "20", "-c", "1", "--otlp", receiver.url)
    code, (report,), error = load(engine, tmp_path, *words)
    assert (code, report["requests"], receiver.pushes) == (0, 20, [])
    (line,) = error.splitlines()
    assert "1 of 1 pushes failed, also the last: " in line
    assert "Certificate" in line
    trusted = str(certificates / "ca.pem")
    code, _, error = load(engine, tmp_path, *words, OTEL_EXPORTER_OTLP_CERTIFICATE=trusted)
    assert (code, error) == (0, "")
    path, _, push = receiver.pushes[-1]
    assert path == "/v1/metrics"
    assert counts(metrics(push)["httpdyno.requests"], "http.response.status_code") == {200: 20}
    (point,) = metrics(push)["http.client.request.duration"].exponential_histogram.data_points
    assert point.count == 20


def test_a_missing_file_of_authorities_is_refused_before_the_load(engine: Engine, tmp_path: Path) -> None:
    words = ("http://127.0.0.1:9/", "-n", "1", "--otlp", "https://127.0.0.1:9")
    code, reports, error = load(engine, tmp_path, *words, OTEL_EXPORTER_OTLP_CERTIFICATE="absent.pem")
    assert (code, reports, error.count("\n")) == (2, [], 1)
    assert "OTEL_EXPORTER_OTLP_CERTIFICATE (environment): absent.pem: " in error
