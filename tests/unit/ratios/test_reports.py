"""Inputs of the cases: the report of `load`, the benchmark of the codec, openssl, the trials of a crawl."""

import json
from typing import Any

import pytest

from httpdyno.errors import NothingMeasured
from ratios.cases.codec import read_bench
from ratios.cases.fetch import rounds_of
from ratios.cases.handshakes import handshake_of
from ratios.load import read_load_report
from ratios.peers import Asked, filled

REPORT: dict[str, Any] = {
    "version": 1,
    "elapsed_s": 2.0,
    "requests": 100_000,
    "statuses": {"200": 99_990, "304": 4, "500": 6},
    "errors_total": 3,
    "unsent": 2,
    "censored": {"count": 64, "oldest_ns": 1, "ages": None},
    "peak_memory_bytes": 4096,
    "response_time": {"p50_ns": 1000, "p99_ns": 2000},
    "send_lag": None,
    "series": [{"requests": count} for count in (10_000, 60_000, 30_000)],
}


def test_a_report_of_load_is_read() -> None:
    report = read_load_report(json.dumps(REPORT))
    assert (report.per_s, report.errors, report.other_than_2xx) == (50_000.0, 3, 10)
    assert (report.unsent, report.open_at_end, report.peak_memory_bytes) == (2, 64, 4096)
    assert report.steady_per_s == 60_000
    assert (report.response_p50_ns, report.response_p99_ns, report.send_lag_p99_ns) == (1000, 2000, None)


def test_an_open_loop_has_a_send_lag() -> None:
    report = read_load_report(json.dumps(REPORT | {"send_lag": {"p99_ns": 700, "max_ns": 900}}))
    assert (report.send_lag_p99_ns, report.send_lag_max_ns) == (700, 900)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps(REPORT | {"requests": None})])
def test_what_is_no_report_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(NothingMeasured, match="its report cannot be read"):
        read_load_report(text)


def test_the_benchmark_of_the_codec_is_read() -> None:
    text = """101 rounds of 2 ms each; ns per head or chunk: median [min..max]
request, tool (44 bytes)
  ours                  57.83 [43.23..3136.70]      ratio 1.00 [1.00..1.00]
  httparse, looked up   66.95 [42.16..299.95]       ratio 1.09 [0.04..4.46]
chunks of 10 bytes (965 bytes)
  ours                  14.01 [8.30..107.02]        ratio 1.00 [1.00..1.00]
"""
    assert read_bench(text) == {
        "dyno-http": {"request, tool": 57.83, "chunks of 10 bytes": 14.01},
        "httparse, looked up": {"request, tool": 66.95},
    }
    with pytest.raises(NothingMeasured):
        read_bench("error: no such benchmark\n")


def test_what_a_handshake_agreed_on_is_read() -> None:
    said = """Server Temp Key: X25519, 253 bits
New, TLSv1.3, Cipher is TLS_AES_256_GCM_SHA384
Server public key is 256 bit
---
Post-Handshake New Session Ticket arrived:
SSL-Session:
---
Post-Handshake New Session Ticket arrived:
"""
    assert handshake_of(said) == ("TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", "256", "2 tickets")
    assert handshake_of("") == ("0 tickets",)


def trial(block: int, subject: str, **values: object) -> dict[str, Any]:
    fine = {
        "reason": None,
        "right": 900,
        "right_per_s": 450.0,
        "cpu_user_ns": 200_000_000,
        "cpu_system_ns": 100_000_000,
    }
    return {"block": block, "subject": subject, **fine, **values}


def test_trials_become_rounds_and_failed_ones_are_left_out() -> None:
    crashed = trial(1, "b", reason="it crashed", right=None, right_per_s=None, cpu_user_ns=None, cpu_system_ns=None)
    rounds = rounds_of([trial(1, "a"), trial(0, "b"), trial(0, "a", cpu_user_ns=800_000_000), crashed])
    assert [sorted(measured) for measured in rounds] == [["a", "b"], ["a"]]
    assert rounds[0]["a"]["right_per_cpu_s"] == pytest.approx(1000)
    assert rounds[0]["b"]["right_per_cpu_s"] == pytest.approx(3000)


def test_a_template_is_filled_and_other_braces_stay() -> None:
    argv = ["tool", "-c", "{connections}", "-d", "{duration_s}s", "-q", "{rate}", "--format={x}", "{url}"]
    asked = Asked("http://a.test/{x}", 64, 4, {"rate": "50000"})
    assert filled(argv, asked) == ["tool", "-c", "64", "-d", "4s", "-q", "50000", "--format={x}", "http://a.test/{x}"]
