"""Published measurements, each repeated with one of its subjects: in its own form, with the published figures."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command, Ended

pytestmark = pytest.mark.measured

CACHE = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
"""The user's own cache: it has the builds of the contract test."""
TIMEIT = re.compile(r"[\d.]+ (ns|us|ms|s) ± [\d.]+ (ns|us|ms|s), [\d,]+ loops?")

Again = Callable[..., Ended]


@pytest.fixture
def again(httpdyno: Command, tmp_path: Path) -> Again:
    """Measure a subject like the publication, but quickly; check that there are the page and the charts, too."""

    def measure(verb: str, *arguments: str, charts: set[str]) -> Ended:
        ended = httpdyno(verb, *arguments, "--preset", "published", "--quick", **CACHE)
        assert ended.code == 0, ended.err
        (folder,) = (tmp_path / "runs").iterdir()
        assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
        drawn = httpdyno("report", "latest", "--charts", "charts")
        assert drawn.code == 0, drawn.err
        written = {path.name for path in (tmp_path / "charts").iterdir() if path.stat().st_size}
        assert {f"{name}.{kind}" for name in charts for kind in ("svg", "png")} <= written
        return ended

    return measure


def test_latency_is_compared_with_the_published_loops(again: Again) -> None:
    ended = again(
        *("latency", "python-urllib-executor", "--workload", "plain", "--parallel", "1", "--duration", "3s"),
        charts={"loops-0"},
    )
    urllib, httpx, blacksheep = ended.table("*** Plain text ***")
    assert urllib["client"] == "urllib in executor"
    assert TIMEIT.fullmatch(urllib["measured"])
    # A client without CPU time within its deadline is reported as needing more.
    assert TIMEIT.fullmatch(urllib["measured_from_outside"]) or "(--duration)" in ended.out
    assert urllib["published"] == "1.19 ms ± 70.7 us; 1.2 ms ± 43 us"
    # Unmeasured subjects and points have only the published figures.
    for row in (httpx, blacksheep, *ended.table("*** JSON ***"), *ended.table("*** Plain text, parallel 20 ***")):
        assert row["published"]
        assert not row["measured"] + row["measured_from_outside"]


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_cost_is_compared_with_the_published_seconds(again: Again) -> None:
    ended = again(
        *("cost", "ruby-net-http", "--documents", "400"),
        charts={"throughput", "real-time", "user-system-time", "all-data"},
    )
    rows = [row for row in ended.table("measured and published: CPU and real time") if row["client"] == "net/http"]
    assert [row["figures"] for row in rows] == ["measured", "published", "ratio"] * 2
    for runtime, published in (("ruby 1.9.2", ["12.4", "1.6", "14", "20.53"]), ("ruby 1.8.7", None)):
        own, theirs, ratio = (row for row in rows if row["runtime"] == runtime)
        assert (own["documents"], theirs["documents"]) == ("400", "10000")
        assert own["wrong"] == "0"
        for name in ("total", "real"):
            # Each of them per document, of which there were 25 times as many.
            expected = float(own[name]) * 25 / float(theirs[name])
            assert float(ratio[name].removesuffix("x")) == pytest.approx(expected, rel=0.1)
        if published:
            assert [theirs[name] for name in ("user", "system", "total", "real")] == published


def test_service_is_compared_with_the_published_responses(again: Again) -> None:
    ended = again(
        *("service", "flask-gunicorn", "--connections", "20", "--duration", "4s"),
        charts={"overhead-p99", "cpu-per-request"},
    )
    own, theirs = (row for row in ended.table("as published: ") if row["framework"] == "Flask & Gunicorn")
    (figures,) = (name for name in own if name.startswith("20 conns"))
    assert (own["figures"], theirs["figures"]) == ("measured", "published")
    assert theirs[figures] == "4657.61ms, 4.67"
    found = re.fullmatch(r"(?:≥ )?([\d.]+)ms, ([\d.]+)", own[figures])
    assert found, own
    # Ten threads, each of which waits for 2 s: five a second, and each of twenty waits for two of them.
    assert float(found[1]) > 3900
    assert 4 < float(found[2]) < 6
