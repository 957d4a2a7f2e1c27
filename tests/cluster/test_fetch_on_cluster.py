"""`fetch --cluster` with real nodes: a killed node, a repeated command, refused commands."""

import csv
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doubles.ray_node import kill_tree

pytest.importorskip("ray", reason="Ray is not installed; make test-cluster installs it and runs these tests")

HOSTS, PAGES, SHARDS = 500, 24, 12
PATIENCE_S = 300
Start = Callable[..., Any]


def split(
    run: Start, origin: str, folder: Path, *, pages: int = PAGES, shards: int = SHARDS
) -> tuple[list[str], list[str]]:
    """Split a list; return its URLs and the words that lead all of them to the origin."""
    port = origin.rpartition(":")[2]
    urls = [f"http://h{host}.example:{port}/plain?{page}" for page in range(pages) for host in range(HOSTS)]
    (folder / "urls.txt").write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    run("split", "urls.txt", "--shards", str(shards), "-o", "lists")
    return urls, ["--from", "lists", "--into", "crawl", "--connect-to", f"::{origin}", "--no-sync"]


def begun_rows(crawl: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in crawl.glob(".shard-*.part/rows.csv"))


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def processes_of(folder: Path) -> list[str]:
    """Return the command lines that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def test_each_url_has_one_row_when_a_node_is_killed(
    cluster: Any, run: Start, start: Start, origin: str, tmp_path: Path
) -> None:
    urls, words = split(run, origin, tmp_path)
    # Each shard takes at least 2.4 s, so that the killed node has one.
    fetch = start("fetch", "--cluster", cluster.address, *words, "--per-host-interval", "100ms", "-o", "rows.csv")
    deadline = time.monotonic() + PATIENCE_S
    while begun_rows(tmp_path / "crawl") < 900:
        assert fetch.poll() is None, fetch.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    node = sorted(cluster.worker_nodes, key=lambda one: str(one.unique_id))[0]
    raylet = node.all_processes["raylet"][0].process
    kill_tree(raylet.pid)
    out, err = fetch.communicate(timeout=PATIENCE_S)
    raylet.wait()
    assert fetch.returncode == 0, err
    assert out == ""
    assert "the node or its worker was lost; it starts again" in err
    assert "was lost; other nodes fetch its shards" in err
    assert f"{SHARDS} shards, each URL once: {len(urls):,} URLs, {len(urls):,} answered, 0 failed" in err
    rows = rows_of(tmp_path / "rows.csv")
    assert Counter(row[0] for row in rows) == Counter(urls)
    assert {row[1] for row in rows} == {"200"}
    report = json.loads((tmp_path / "crawl" / "report.json").read_text(encoding="utf-8"))
    assert report["starts"] == SHARDS + 1
    assert report["starts_without_report"] == 1
    assert processes_of(tmp_path) == []


def test_free_nodes_take_a_part_of_a_slow_shard(cluster: Any, run: Start, origin: str, tmp_path: Path) -> None:
    urls, words = split(run, origin, tmp_path, shards=1)
    # One node would take a minute: two pages a second of each host, and those of a host are not side by side.
    slow = [*words, "--concurrency", "100", "--per-host-interval", "2s"]
    ended = run("fetch", "--cluster", cluster.address, *slow, "-o", "rows.csv")
    assert "shard 1 on" in ended.stderr
    assert "URLs are divided into 3 shards" in ended.stderr
    assert "4 shards, each URL once" in ended.stderr
    assert Counter(row[0] for row in rows_of(tmp_path / "rows.csv")) == Counter(urls)
    rest = tmp_path / "crawl" / "rest-of-shard-00001-of-00001"
    assert len(list(rest.glob("shard-*-of-00003/manifest.json"))) == 3
    report = json.loads((tmp_path / "crawl" / "report.json").read_text(encoding="utf-8"))
    assert report["sums"]["requests"] <= len(urls) + 100, "more than what was in flight was requested twice"
    manifests = {path: path.stat().st_mtime_ns for path in rest.glob("shard-*/manifest.json")}
    again = run("fetch", "--cluster", cluster.address, *slow)
    assert "4 shards, each URL once" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in manifests} == manifests


def test_the_same_command_requests_nothing_again(cluster: Any, run: Start, origin: str, tmp_path: Path) -> None:
    urls, words = split(run, origin, tmp_path, pages=1)
    run("fetch", "--cluster", cluster.address, *words)
    manifests = {path: path.stat().st_mtime_ns for path in (tmp_path / "crawl").glob("shard-*/manifest.json")}
    assert len(manifests) == SHARDS
    run("fetch", "--cluster", cluster.address, *words, "-o", "rows.csv")
    assert {path: path.stat().st_mtime_ns for path in manifests} == manifests
    assert Counter(row[0] for row in rows_of(tmp_path / "rows.csv")) == Counter(urls)
    # The engine of a node refuses an option in its own words; nothing is repeated.
    refused = run("fetch", "--cluster", cluster.address, *words, "--concurrency", "0", code=2)
    assert refused.stderr.startswith('httpdyno: --concurrency: "0" is not a whole number')
    assert refused.stderr.count("\n") == 1
    # Another list in the same folder.
    (tmp_path / "urls.txt").write_text(f"{urls[0]}\n", encoding="utf-8")
    run("split", "urls.txt", "--shards", "1", "-o", "others")
    others = ["--from", "others", "--into", "crawl"]
    refused = run("fetch", "--cluster", cluster.address, *others, code=2)
    assert f"has a crawl in {SHARDS} shards, and --shard has 1; name another folder" in refused.stderr
    refused = run("fetch", "--cluster", cluster.address, *words, "-o", "missing/rows.csv", code=2)
    assert refused.stderr == "httpdyno: -o missing/rows.csv: is no file in an existing folder; name one\n"


def test_an_interrupted_crawl_has_the_reports_of_all_starts(
    cluster: Any, run: Start, start: Start, origin: str, tmp_path: Path
) -> None:
    urls, words = split(run, origin, tmp_path)
    words = ["fetch", "--cluster", cluster.address, *words]
    fetch = start(*words, "--per-host-interval", "2s")
    deadline = time.monotonic() + PATIENCE_S
    while begun_rows(tmp_path / "crawl") < 100:
        assert fetch.poll() is None, fetch.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    fetch.send_signal(signal.SIGINT)
    _, err = fetch.communicate(timeout=PATIENCE_S)
    assert fetch.returncode == 128 + signal.SIGINT, err
    assert "interrupted; the same command continues the crawl" in err
    run(*words, "-o", "rows.csv")
    assert Counter(row[0] for row in rows_of(tmp_path / "rows.csv")) == Counter(urls)
    report = json.loads((tmp_path / "crawl" / "report.json").read_text(encoding="utf-8"))
    assert report["starts"] > SHARDS
    assert report["starts_without_report"] == 0


def test_a_cluster_that_cannot_be_used_is_refused_in_one_line(
    cluster: Any, run: Start, origin: str, tmp_path: Path
) -> None:
    _, words = split(run, origin, tmp_path, pages=1)

    def refusal(*more: str, address: str = cluster.address, **variables: str) -> str:
        ended = run("fetch", "--cluster", address, *words, *more, code=2, **variables)
        assert ended.stderr.count("\n") == 1, ended.stderr
        assert ended.stdout == ""
        return str(ended.stderr)

    assert "Connection refused; name HOST:PORT that ray start --head printed" in refusal(address="127.0.0.1:1")
    assert "refuses the token" in refusal(RAY_AUTH_TOKEN="0" * 64)
    assert not (tmp_path / "crawl").exists()


def test_nodes_of_this_machine_are_started_and_ended(run: Start, origin: str, tmp_path: Path) -> None:
    urls, words = split(run, origin, tmp_path, pages=2)
    # `local` sets all variables of Ray itself.
    variables = {"RAY_TMPDIR": "", "RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": "", "TMPDIR": str(tmp_path)}
    ended = run("fetch", "--cluster", "local:3", *words, "-o", "rows.csv", **variables)
    assert Counter(row[0] for row in rows_of(tmp_path / "rows.csv")) == Counter(urls)
    lines = [line for line in ended.stderr.splitlines() if "shards done" in line]
    assert len(lines) == 3
    counts = [int(line.split("shards done, ")[1].split(" URLs")[0].replace(",", "")) for line in lines]
    assert sum(counts) == len(urls)
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_a_signal_to_all_of_a_command_leaves_no_node_and_no_folder(
    start: Start, run: Start, origin: str, tmp_path: Path, signalled: signal.Signals
) -> None:
    _, words = split(run, origin, tmp_path, shards=2)
    variables = {"RAY_TMPDIR": "", "RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": "", "TMPDIR": str(tmp_path)}
    slow = ["--per-host-interval", "2s"]
    before = set(Path("/tmp").glob("dyno-*"))
    fetch = start("fetch", "--cluster", "local:2", *words, *slow, **variables)
    deadline = time.monotonic() + PATIENCE_S
    while begun_rows(tmp_path / "crawl") < 100:
        assert fetch.poll() is None, fetch.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(fetch.pid, signalled)
    _, err = fetch.communicate(timeout=PATIENCE_S)
    assert fetch.returncode == (-signal.SIGKILL if signalled is signal.SIGKILL else 128 + signal.SIGTERM), err
    while (left := processes_of(tmp_path)) or set(Path("/tmp").glob("dyno-*")) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    reports = [path.stat().st_size for path in tmp_path.glob("crawl/.shard-*/report-*.json")]
    assert len(reports) == 2
    assert signalled is signal.SIGKILL or all(reports)
