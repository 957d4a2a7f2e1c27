"""The real internet gets limited requests, and its answers are measured without a judgement."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import httpdyno as package
from doubles.command_line import Command, Ended
from doubles.loopback_site import Site

from ..conftest import right_in_time

NothingLeft = Callable[..., None]


def test_a_bench_of_the_real_internet(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    ended = httpdyno(
        "bench", *clients, "--urls", listed, "--repeat", "2", "--concurrency", "9", "--timeout", "60", "--yes",
        "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    for row in ended.rows:
        assert (row["totalUrls"], row["2xx"], row["avgBodyLen"], row["okReqsPct"]) == (30, 30, 5, 1)
        assert (row["wrong"], row["verdict"], row["rank"], row["right_per_s"]) == (None, "UNVERIFIED", None, None)
        assert row["wire_bytes"] is row["connections"] is None
        assert row["time"] > 0
        assert row["cpu_user_ms"] + row["cpu_system_ms"] > 0
        assert row["peak_memory_bytes"] > 1_000_000
    assert "this will send 120 requests to 3 hosts of the real internet: 30 URLs in each of 4 trials" in ended.err
    assert sum(site.paths.values()) == 120
    assert set(site.most_in_flight.values()) == {1}, "one at a time to a host, whatever the client's concurrency"
    assert set(site.user_agents) == {f"httpdyno/{package.__version__} (HTTP client benchmark)"}
    (run,) = (tmp_path / "runs").iterdir()
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "UNVERIFIED: the right answers of the internet are unknown: none was checked" in page
    settings = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["per_host"], settings["user_agent"]) == (1, next(iter(site.user_agents)))
    nothing_left()


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (("--contact", "me@example.org"), f"httpdyno/{package.__version__} (HTTP client benchmark; +me@example.org)"),
        (("--user-agent", "mine/1.0"), "mine/1.0"),
    ],
)
def test_a_try_says_who_asks(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, given: tuple[str, ...], sent: str
) -> None:
    site.together = 3
    ended = httpdyno(
        "try", "one", *clients[2:], "--urls", listed, "--per-host", "3", "--concurrency", "9", "--timeout", "300",
        "--yes", *given,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(re.findall(r"\[200\] http://127.0.0.\d:\d+/page/\d : \d+ms", ended.out)) == 30
    assert "UNVERIFIED" in ended.out
    assert set(site.user_agents) == {sent}
    assert set(site.most_in_flight.values()) == {3}


def test_the_deadline_ends_a_stalled_crawl(
    httpdyno: Command, clients: tuple[str, ...], site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    (tmp_path / "stalls.txt").write_text("\n".join(site.urls(2, "stall")), encoding="utf-8")

    def crawl(duration_s: int) -> Ended:
        site.paths.clear()
        # Waiting for the command would fail if their timeout had to end it.
        return httpdyno(
            "bench", "one", *clients[2:], "--urls", "stalls.txt", "--repeat", "1", "--yes",
            "--concurrency", "3", "--duration", str(duration_s), "--timeout", "5000", "--format", "json",
        )  # fmt: skip

    # A client may be ended before it has begun.
    ended = right_in_time(crawl, lambda _: sum(site.paths.values()) >= 3, timeouts_s=(3, 20, 60))
    assert sum(site.paths.values()) == 3, "the others wait for hosts that never answer"
    assert re.search(r"one: hung: printed nothing in \d+\.\d s", ended.err)
    assert [row["verdict"] for row in json.loads(ended.out)] == ["hung"]
    nothing_left()
