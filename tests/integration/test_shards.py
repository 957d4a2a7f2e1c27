"""A list in shards: `split`, `fetch --shard`, kills, `merge`, and the recipes of docs/guide/cluster.md."""

import csv
import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from doubles.loopback_site import Site
from guide_pages import blocks
from httpdyno.lab.engine import Engine

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PATIENCE_S = 300
PAGE = "cluster.md"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def variables(engine: Engine, tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the engine is the command `httpdyno`, as after an installation."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "httpdyno").symlink_to(engine.path)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "JOB_"))}
    return clean | {"PATH": f"{programs}:{os.environ['PATH']}"}


@pytest.fixture
def run(variables: dict[str, str], tmp_path: Path) -> Run:
    """Run `httpdyno` to its end, with the text of a list."""

    def command(*words: str, text: str = "", code: int = 0, **more: str) -> "subprocess.CompletedProcess[str]":
        ended = subprocess.run(
            ["httpdyno", *words],
            input=text,
            env=variables | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == code, (words, ended.stderr)
        return ended

    return command


def urls_of(site: Site, count: int) -> list[str]:
    """Return URLs of many hosts, which are addresses of the loopback: two pages of each."""
    return [f"http://127.0.1.{1 + page % (count // 2)}:{site.server_port}/page/{page}" for page in range(count)]


def listed(urls: Sequence[str]) -> str:
    return "".join(f"{url}\n" for url in urls)


def valid(path: Path, schema: str) -> Any:
    document = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(json.loads((REFERENCE / schema).read_text(encoding="utf-8"))).validate(document)
    return document


def rows_in(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [row[0] for row in csv.reader(file)]


def fetch_all(run: Run, of: int, *words: str, **more: str) -> None:
    for number in range(1, of + 1):
        run("fetch", "--shard", f"{number}/{of}", "--into", "crawl", "--no-sync", "--quiet", *words, **more)


def wait_for_rows(fetch: "subprocess.Popen[Any]", rows: Path, count: int) -> None:
    """Wait until a crawl has printed as many rows."""
    for _ in range(PATIENCE_S * 100):
        if rows.exists() and rows.read_text(encoding="utf-8").count("\n") >= count:
            return
        assert fetch.poll() is None, "the crawl ended before"
        time.sleep(0.01)
    raise AssertionError(f"fewer than {count} rows in {PATIENCE_S} s")


NAMES = [f"https://{host}{name}.{suffix}/{page}" for host in ("", "www.", "a.b.") for name in map(str, range(40))
         for suffix in ("example", "co.uk", "github.io") for page in "xy"]  # fmt: skip
ODD = ["no url", "ftp://files.example/", "http://[::1]/", "http://10.1.2.3:81/", 'https://bücher.example/,"q"']


def pack_with_zstd(text: bytes) -> bytes:
    if not (zstd := shutil.which("zstd")):
        pytest.skip("the program zstd is not installed")
    return subprocess.run([zstd, "-c"], input=text, capture_output=True, timeout=PATIENCE_S, check=True).stdout


@pytest.mark.parametrize("pack", [bytes, gzip.compress, pack_with_zstd], ids=["plain", "gzip", "zstd"])
def test_the_files_of_a_split_are_the_list(run: Run, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    lines = [*NAMES, *ODD, NAMES[0]]
    (tmp_path / "urls").write_bytes(pack(f"\ufeff# a comment\n\n{listed(lines)}".replace("\n", "\r\n").encode()))
    run("split", "urls", "--shards", "7", "--seed", "3", "-o", "lists")
    split = valid(tmp_path / "lists" / "split.json", "fetch-split.schema.json")
    files = [tmp_path / "lists" / shard["file"] for shard in split["shards"]]
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == [
        *sorted(path.name for path in files),
        "split.json",
    ]
    shards = [path.read_text(encoding="utf-8").splitlines() for path in files]
    assert Counter(line for shard in shards for line in shard) == Counter(lines)
    place = {line: number for number, shard in enumerate(shards) for line in shard}
    for number in map(str, range(40)):
        for suffix in ("example", "co.uk", "github.io"):
            assert len({place[line] for line in NAMES if re.search(rf"\b{number}\.{suffix}/", line)}) == 1
    assert len(set(place.values())) == 7
    # Each shard has the order of the list, and the digests are those of other programs.
    for path, shard, entry in zip(files, shards, split["shards"], strict=True):
        assert shard == [line for line in lines if line in set(shard)]
        assert entry["urls"] == len(shard)
        assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert split["list"]["sha256"] == hashlib.sha256(listed(lines).encode()).hexdigest()
    assert (split["list"]["urls"], split["seed"], split["of"]) == (len(lines), 3, 7)


def test_without_a_number_a_shard_has_about_100_000_urls(run: Run, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(listed([f"http://{number}.example/" for number in range(250_000)]))
    ended = run("split", "urls.txt")
    assert ended.stderr == "httpdyno: 250,000 URLs in 3 shards: urls.txt.shards\n"
    split = json.loads((tmp_path / "urls.txt.shards" / "split.json").read_text())
    assert all(80_000 < shard["urls"] < 87_000 for shard in split["shards"])


def test_a_shard_is_the_same_with_and_without_a_split(run: Run, tmp_path: Path) -> None:
    text = listed([*NAMES, *ODD])
    run("split", "-", "--shards", "5", "--seed", "9", "-o", "lists", text=text)
    for number in range(1, 6):
        # Every lookup fails at once: the address of the name server refuses.
        words = ("--nameserver", "127.0.0.1:1", "--proxy", "http://127.0.0.1:1", "--timeout", "60s", "--quiet")
        whole = run("fetch", "--shard", f"{number}/5", "--shard-seed", "9", *words, text=text)
        from_file = run("fetch", "--shard", f"{number}/5", "--from", "lists", *words)
        lines = (tmp_path / "lists" / f"shard-{number:05}-of-00005.txt").read_text(encoding="utf-8").splitlines()
        for ended in (whole, from_file):
            assert Counter(row[0] for row in csv.reader(ended.stdout.splitlines())) == Counter(lines)


@pytest.mark.parametrize("form", ["csv", "jsonl", "contract"])
def test_all_shards_together_have_each_url_once(run: Run, site: Site, tmp_path: Path, form: str) -> None:
    urls = [*urls_of(site, 60), "no url", f"http://127.0.1.9:{site.server_port}/a,b"]
    names = ["--column-names"] if form == "csv" else []
    run("split", "-", "--shards", "4", "-o", "lists", text=listed(urls))
    fetch_all(run, 4, "--from", "lists", "--format", form, *names, "--save", "pages", "--warc", "archive")
    ended = run("merge", "crawl", "-o", "rows")
    assert "4 shards, each URL once: 62 URLs, 61 answered, 1 failed" in ended.stderr
    text = (tmp_path / "rows").read_text(encoding="utf-8")
    if form == "csv":
        assert rows_in(tmp_path / "rows")[0] == "url"
        found = rows_in(tmp_path / "rows")[1:]
    elif form == "jsonl":
        found = [json.loads(line)["url"] for line in text.splitlines()]
    else:
        found = [line.rsplit(",", 4)[0] for line in text.splitlines()]
    assert Counter(found) == Counter(urls)
    total = valid(tmp_path / "crawl" / "report.json", "fetch-merge.schema.json")
    assert (total["urls"], total["statuses"], total["errors"]) == (62, {"200": 61}, {"InvalidUrl": 1})
    assert (total["sums"]["requests"], total["starts"], total["starts_without_report"]) == (61, 4, 0)
    assert total["durations"]["max_ns"] >= total["durations"]["p50_ns"] > 0
    for folder in (tmp_path / "crawl").glob("shard-*"):
        shard = valid(folder / "manifest.json", "fetch-shard.schema.json")
        assert {file["file"] for file in shard["files"]} == {
            "archive-00000.warc.gz", "pages/index.jsonl", "report-00001.json"
        }  # fmt: skip
        assert not (folder / "journal").exists()
    assert sum(site.paths.values()) == 61
    # A shard that is done is not fetched again, and one of another list is not taken for it.
    run("fetch", "--shard", "1/4", "--from", "lists", "--into", "crawl", "--format", form)
    assert sum(site.paths.values()) == 61
    other = run("fetch", "--shard", "1/4", "--into", "crawl", text=listed(urls[1:]), code=2)
    assert "was fetched from another list" in other.stderr


def test_a_shard_that_is_killed_is_continued_and_merged(
    run: Run, site: Site, variables: dict[str, str], tmp_path: Path
) -> None:
    urls = urls_of(site, 200)
    (tmp_path / "urls.txt").write_text(listed(urls))
    words = ["--into", "crawl", "--no-sync", "--concurrency", "4", "--quiet"]
    folder, part = tmp_path / "crawl" / "shard-00001-of-00002", tmp_path / "crawl" / ".shard-00001-of-00002.part"
    answered = 0
    for _ in range(2):
        with (tmp_path / "urls.txt").open("rb") as text:
            argv = ["httpdyno", "fetch", "--shard", "1/2", *words]
            fetch = subprocess.Popen(argv, stdin=text, cwd=tmp_path, env=variables)
        # Killed as soon as some rows are there, and others are not.
        rows = part / "rows.csv"
        wait_for_rows(fetch, rows, answered + 10)
        fetch.send_signal(signal.SIGKILL)
        assert fetch.wait(PATIENCE_S) == -signal.SIGKILL
        answered = rows.read_text().count("\n")
        assert not folder.exists()
        ended = run("merge", "crawl", code=1)
        assert "shard 1 is not done; give its command again, which continues it" in ended.stderr
    for number in (1, 2):
        run("fetch", "--shard", f"{number}/2", *words, text=listed(urls))
    assert folder.exists()
    assert not part.exists()
    run("merge", "crawl", "-o", "rows.csv")
    assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl", "programs", "rows.csv", "urls.txt"]
    total = json.loads((tmp_path / "crawl" / "report.json").read_text())
    assert (total["urls"], total["starts"], total["starts_without_report"]) == (200, 4, 2)
    # The journal is written as rows are: only what was in flight or not yet noted was fetched again.
    assert sum(site.paths.values()) < 300


def test_an_interrupted_shard_is_continued(run: Run, site: Site, variables: dict[str, str], tmp_path: Path) -> None:
    urls = [*urls_of(site, 20), f"http://127.0.2.1:{site.server_port}/stall"]
    argv = ["httpdyno", "fetch", "--shard", "1/1", "--into", "crawl", "--no-sync", "--quiet"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, cwd=tmp_path, env=variables, text=True) as fetch:
        assert fetch.stdin
        fetch.stdin.write(listed(urls))
        fetch.stdin.close()
        rows = tmp_path / "crawl" / ".shard-00001-of-00001.part" / "rows.csv"
        wait_for_rows(fetch, rows, 20)
        # A second command for the same shard does not disturb it.
        second = run(*argv[1:], text=listed(urls), code=2)
        assert second.stderr == ("httpdyno: --into crawl: another httpdyno fetch has shard 1 of 1; wait for its end\n")
        fetch.send_signal(signal.SIGTERM)
        assert fetch.wait(PATIENCE_S) == 128 + signal.SIGTERM
    site.closing.set()
    run(*argv[1:], text=listed(urls))
    run("merge", "crawl", "-o", "rows.csv")
    assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_left_of_a_shard_is_split_again(
    run: Run, site: Site, variables: dict[str, str], tmp_path: Path, ended_by: signal.Signals
) -> None:
    # It does not end before the signal.
    urls = urls_of(site, 200) + [f"http://127.0.2.{host}:{site.server_port}/stall" for host in range(1, 9)]
    run("split", "-", "--shards", "2", "-o", "lists", text=listed(urls))
    first = ["--shard", "1/2", "--from", "lists", "--into", "crawl", "--no-sync", "--concurrency", "4", "--quiet"]
    with subprocess.Popen(
        ["httpdyno", "fetch", *first], stdin=subprocess.DEVNULL, cwd=tmp_path, env=variables
    ) as fetch:
        wait_for_rows(fetch, tmp_path / "crawl" / ".shard-00001-of-00002.part" / "rows.csv", 10)
        # It has the lock of the shard.
        run("fetch", *first, "--divide", "3", code=2)
        fetch.send_signal(ended_by)
        fetch.wait(PATIENCE_S)
    site.closing.set()
    run("fetch", "--shard", "2/2", *first[2:])
    ended = run("fetch", *first[:-1], "--divide", "3")
    folder, rest = tmp_path / "crawl" / "shard-00001-of-00002", tmp_path / "crawl" / "rest-of-shard-00001-of-00002"
    done, left = len(rows_in(folder / "rows.csv")), json.loads((rest / "split.json").read_text())["list"]["urls"]
    assert ended.stderr == (
        f"httpdyno: shard 1 of 2: {done} URLs are done, the other {left} are split into 3 shards: crawl/{rest.name}\n"
    )
    valid(folder / "manifest.json", "fetch-shard.schema.json")
    assert run("fetch", *first, "--divide", "3").stderr == ""
    assert run("fetch", *first[:-1]).stderr == (
        f"httpdyno: crawl/{folder.name}: this shard is done; its other URLs are in crawl/{rest.name}\n"
    )
    fetched_once = sum(site.paths.values())
    missing = run("merge", "crawl", code=1).stderr.splitlines()
    at = f"crawl/{rest.name}"
    assert missing[0] == f"httpdyno: {at}: shard 1 of 3 is missing; fetch it with --shard 1/3 --from {at} --into {at}"
    assert len(missing) == 3
    for number in (1, 2, 3):
        run("fetch", "--shard", f"{number}/3", "--from", at, "--into", at, "--no-sync", "--quiet")
    run("merge", "crawl", "-o", "rows.csv")
    assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)
    assert sum(site.paths.values()) == fetched_once + left
    if ended_by is signal.SIGTERM:
        assert sum(site.paths.values()) <= len(urls) + 4, "what was in flight is fetched again, and nothing else"
    rest.rename(tmp_path / "elsewhere")
    assert run("merge", "crawl", code=1).stderr == (
        f"httpdyno: crawl/{folder.name}: {left} URLs of the divided shard are missing; copy {rest.name} next to it\n"
    )


def test_all_urls_of_a_shard_that_was_not_begun_are_left(run: Run, site: Site, tmp_path: Path) -> None:
    urls = urls_of(site, 20)
    run("split", "-", "--shards", "1", "-o", "lists", text=listed(urls))
    run("fetch", "--shard", "1/1", "--from", "lists", "--into", "crawl", "--divide", "2")
    at = "crawl/rest-of-shard-00001-of-00001"
    for number in (1, 2):
        run("fetch", "--shard", f"{number}/2", "--from", at, "--into", at, "--no-sync")
    run("merge", "crawl", "-o", "rows.csv")
    assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def damage(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


@pytest.fixture
def crawled(run: Run, site: Site, tmp_path: Path) -> Path:
    """Fetch a list in three shards; return their folder."""
    text = listed(urls_of(site, 30))
    run("split", "-", "--shards", "3", "-o", "lists", text=text)
    fetch_all(run, 3, "--from", "lists")
    return tmp_path / "crawl"


def test_each_fault_of_shards_is_one_line(run: Run, site: Site, crawled: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    crawled.rename(whole)
    one, two = (f"shard-{number:05}-of-00003" for number in (1, 2))

    def line_after(fault: Callable[[], object]) -> str:
        shutil.rmtree(crawled, ignore_errors=True)
        shutil.copytree(whole, crawled)
        fault()
        before = {path: path.read_bytes() for path in crawled.rglob("*") if path.is_file()}
        ended = run("merge", "crawl", "-o", "rows.csv", code=1)
        assert {path: path.read_bytes() for path in crawled.rglob("*") if path.is_file()} == before
        assert not list(tmp_path.glob("*rows.csv*"))
        (line,) = ended.stderr.splitlines()
        return line.removeprefix("httpdyno: ")

    rows = crawled / one / "rows.csv"
    again = "restore it, or remove the folder and fetch shard 1 again"
    changed = f"crawl/{one}/rows.csv: the file was changed after the shard was done; {again}"
    assert line_after(lambda: shutil.rmtree(crawled / one)) == ("shard 1 of 3 is missing; fetch it with --shard 1/3")
    assert line_after(lambda: (crawled / one).rename(crawled / f".{one}.part")) == (
        f"crawl/.{one}.part: shard 1 is not done; give its command again, which continues it"
    )
    assert line_after(lambda: shutil.copytree(crawled / one, crawled / "copy")) == (
        f"crawl/{one}: shard 1 of 3 is in crawl/copy, too; move one of the two away"
    )
    assert line_after(lambda: damage(rows, lambda text: text[:-9])).startswith(f"crawl/{one}/rows.csv: line ")
    assert line_after(lambda: damage(rows, lambda _: b"")) == changed
    assert line_after(lambda: damage(rows, lambda text: text.replace(b",200,", b",204,", 1))) == changed
    assert line_after(lambda: damage(rows, lambda text: text.splitlines(keepends=True)[0] + text)) == changed
    assert line_after(lambda: damage(rows, lambda text: b"\xff" + text[1:])) == changed
    assert line_after(rows.unlink) == f"crawl/{one}/rows.csv: No such file or directory; {again}"
    report = "report-00001.json"
    assert line_after(lambda: damage(crawled / one / report, lambda text: text.replace(b"1", b"2"))) == (
        f"crawl/{one}/{report}: the file was changed after the shard was done; {again}"
    )
    manifest = crawled / one / "manifest.json"
    for change in (lambda _: b"", lambda text: text[:99], lambda text: text.replace(b'"number": 1', b'"number": 4')):
        lines = run_lines(run, partial(damage, manifest, change), whole, crawled)
        assert f"crawl/{one}: the manifest is damaged" in lines[0]
        assert lines[1:] == ["shard 1 of 3 is missing; fetch it with --shard 1/3"]
    newer = run_lines(
        run,
        lambda: damage(manifest, lambda text: text.replace(b"httpdyno-shard 1", b"httpdyno-shard 2")),
        whole,
        crawled,
    )
    assert 'is of the form "httpdyno-shard 2"' in newer[0]

    def of_another_list() -> None:
        shutil.rmtree(crawled / two)
        other = listed(urls_of(site, 28))
        run("fetch", "--shard", "2/3", "--into", "crawl", "--no-sync", "--quiet", text=other)

    other = run_lines(run, of_another_list, whole, crawled)
    assert re.fullmatch(
        rf"crawl/{two}: is of another list \(28 URLs, SHA-256 \w{{12}}\) than crawl/{one} "
        r"\(30 URLs, SHA-256 \w{12}\); "
        "move it away, and fetch the shard of the same list",
        other[0],
    )

    # The rows of two shards in each other's place: as many rows, digests that agree, other URLs.
    def exchanged() -> None:
        for name in (one, two):
            document = json.loads((crawled / name / "manifest.json").read_text())
            document["lines"] = json.loads((whole / two / "manifest.json").read_text())["lines"]
            (crawled / name / "manifest.json").write_text(json.dumps(document))

    assert "rows that are not those of the" in run_lines(run, exchanged, whole, crawled)[0]


def run_lines(run: Run, fault: Callable[[], object], whole: Path, crawled: Path) -> list[str]:
    """Return the messages of a merge after a fault in a new copy of the shards."""
    shutil.rmtree(crawled, ignore_errors=True)
    shutil.copytree(whole, crawled)
    fault()
    lines = run("merge", "crawl", code=1).stderr.splitlines()
    return [line.removeprefix("httpdyno: ") for line in lines]


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["fetch", "--shard", "0/4"], '--shard: "0/4": the shards are 1/4 to 4/4; see: httpdyno fetch -h'),
        (["fetch", "--shard", "5/4"], '--shard: "5/4": the shards are 1/4 to 4/4; see: httpdyno fetch -h'),
        (["fetch", "--shard", "a/b"], "is not a shard; write I/N, such as 3/16"),
        (["fetch", "--shard", "1/0"], "the number of shards is from 1 to 100000"),
        (["fetch", "--shard", "slurm"], "--shard slurm: SLURM_ARRAY_TASK_ID is not set"),
        (["fetch", "--shard", "kubernetes"], "write it, as in kubernetes/16"),
        (["fetch", "--shard", "kubernetes/4"], "--shard kubernetes: JOB_COMPLETION_INDEX is not set"),
        (["fetch", "--into", "x"], "--into: needs a shard; add --shard I/N"),
        (["fetch", "--from", "lists"], "--from: needs a shard; add --shard I/N"),
        (["fetch", "--shard", "1/4", "--from", "lists"], "has 3 shards, and --shard has 4; write --shard 1/3"),
        (["fetch", "--shard", "4/4", "--from", "lists"], "and --shard has 4; write --shard 1/3 to 3/3"),
        (["fetch", "--shard", "1/4", "--into", "crawl"], "--into crawl: has a crawl in 3 shards, and --shard has 4"),
        (["fetch", "--shard", "1/3", "--from", "crawl"], "--from crawl: split.json: No such file or directory; name"),
        (["fetch", "--shard", "1/3", "--from", "lists", "--shard-seed", "1"], "--shard-seed conflicts with --from"),
        (["fetch", "--shard", "1/3", "--into", "x", "-o", "rows"], "--output conflicts with --into: rows go to"),
        (["fetch", "--shard", "1/3", "--into", "x", "--resume", "y"], "--resume conflicts with --into"),
        (["fetch", "--shard", "1/3", "--into", "x", "--save", "a/b"], "--save a/b: with --into it is a name in"),
        (["fetch", "--shard", "1/3", "--into", "x", "--warc", "../b"], "--warc ../b: with --into it is a name in"),
        (
            ["fetch", "--shard", "1/3", "--into", "x", "--save", "report-00001.json"],
            "report-00001.json: with --into it is",
        ),
        (["fetch", "--shard", "1/3", "--into", "empty"], "--into empty: is not a folder; name one"),
        (["fetch", "--shard", "1/3", "--into", "x", "--format", "parquet"], "--into conflicts with --format parquet"),
        (["fetch", "--shard", "1/3", "--divide", "2"], "--divide: needs the shard's list and folder; add --from LISTS"),
        (["fetch", "--divide", "0"], '"0" is not a whole number from 1 to'),
        (["fetch", "--no-sync"], "--no-sync: there is no journal to write"),
        (["split"], "split: name the list: httpdyno split urls.txt"),
        (["split", "none.txt"], "none.txt: No such file or directory; name a list of URLs"),
        (["split", "crawl"], "crawl: is a folder; name a list of URLs"),
        (["split", "empty", "--shards", "2"], "empty: has no URLs; write one a line"),
        (["split", "torn.gz", "--shards", "2"], "the list cannot be read to its end"),
        (["split", "urls.zip", "--shards", "2"], "urls.zip: is a zip archive; unpack it, or write: httpdyno urls"),
        (["split", "urls.txt", "--shards", "0"], '--shards: "0" is not a whole number from 1 to 100000'),
        (["split", "urls.txt", "-o", "lists"], "--output lists: exists; name a new folder, or remove it"),
        (["split", "-", "-o", "new"], "--shards: is missing, and standard input can be read only once"),
        (["split", "-", "--shards", "2"], "--output: is missing, and standard input has no name"),
        (["merge"], "merge: name the folder of the shards: httpdyno merge crawl"),
        (["merge", "none"], "none: No such file or directory; name a folder of fetch --into"),
        (["merge", "lists"], "lists: has no shards; it is a list of httpdyno split; name the folder of fetch --into"),
        (["merge", "."], ".: has no shards; fetch them: httpdyno fetch --shard 1/16 --from lists --into ."),
        (
            ["merge", "crawl", "-o", "crawl/shard-00001-of-00003/rows.csv"],
            "--output crawl/shard-00001-of-00003/rows.csv: is in the folder of a shard",
        ),
        (["merge", "crawl", "--report", "lists/../crawl/shard-00002-of-00003/r"], "r: is in the folder of a shard"),
        (["merge", "crawl", "-o", "no/rows"], "--output no/rows: is no file in an existing folder; name one"),
        (["merge", "crawl", "--report", "lists"], "--report lists: is no file in an existing folder; name one"),
    ],
)
def test_a_mistake_is_one_line(run: Run, tmp_path: Path, words: list[str], line: str) -> None:
    (tmp_path / "empty").write_text("# nothing\n\n")
    (tmp_path / "urls.txt").write_text("http://a.example/\n")
    (tmp_path / "urls.zip").write_bytes(b"PK\x03\x04 and more")
    (tmp_path / "torn.gz").write_bytes(gzip.compress(listed(NAMES).encode())[:-20])
    before = sorted(tmp_path.rglob("*"))
    ended = run(*words, code=2)
    assert line in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_file_of_a_split_is_refused(run: Run, crawled: Path, tmp_path: Path) -> None:
    shutil.rmtree(crawled)
    path = tmp_path / "lists" / "shard-00002-of-00003.txt"
    damage(path, lambda text: text + b"http://127.0.0.1:1/\n")
    ended = run("fetch", "--shard", "2/3", "--from", "lists", "--into", "crawl", code=2)
    assert "shard-00002-of-00003.txt: its lines are not those of split.json" in ended.stderr
    assert not crawled.exists()


def test_a_shard_that_began_with_column_names_is_continued_without(run: Run, tmp_path: Path) -> None:
    part = tmp_path / "crawl" / ".shard-00001-of-00001.part"
    part.mkdir(parents=True)
    begun = ["fetch", "-o", str(part / "rows.csv"), "--resume", str(part / "journal"), "--no-sync", "--quiet"]
    run(*begun, "--column-names", text="one\ntwo\n")
    fetch_all(run, 1, text="one\ntwo\n")
    manifest = valid(tmp_path / "crawl" / "shard-00001-of-00001" / "manifest.json", "fetch-shard.schema.json")
    assert manifest["rows"]["column_names"]
    run("merge", "crawl", "-o", "rows.csv")
    assert rows_in(tmp_path / "rows.csv") == ["url", "one", "two"]


@pytest.mark.parametrize("names", [[], ["--column-names"]])
def test_a_shard_may_be_empty(run: Run, tmp_path: Path, names: list[str]) -> None:
    run("split", "-", "--shards", "3", "-o", "lists", text="no url\n")
    fetch_all(run, 3, "--from", "lists", *names)
    run("merge", "crawl", "-o", "rows.csv")
    assert rows_in(tmp_path / "rows.csv") == (["url"] if names else []) + ["no url"]


def test_a_list_without_urls_has_no_shards(run: Run, tmp_path: Path) -> None:
    ended = run("fetch", "--shard", "1/3", "--into", "crawl", "--quiet", text="# nothing\n", code=2)
    assert ended.stderr == "httpdyno: standard input: has no URLs; give the whole list: < urls.txt\n"
    assert list((tmp_path / "crawl").iterdir()) == []


def test_killed_commands_leave_nothing_that_is_taken_for_whole(
    run: Run, variables: dict[str, str], tmp_path: Path
) -> None:
    argv = ["httpdyno", "split", "-", "--shards", "2", "-o", "lists"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, cwd=tmp_path, env=variables) as split:
        assert split.stdin
        split.stdin.write(listed(NAMES).encode())
        split.stdin.flush()
        for _ in range(PATIENCE_S * 100):
            if (tmp_path / ".lists.part").exists():
                break
            time.sleep(0.01)
        split.kill()
    assert not (tmp_path / "lists").exists()
    # While another process has the folder, it is not touched.
    with closing_descriptor(os.open(tmp_path / ".lists.part", os.O_RDONLY)) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        second = run(*argv[1:], text="http://a.example/\n", code=2)
        assert "another httpdyno split writes it" in second.stderr
    run(*argv[1:], text=listed(NAMES))
    assert not (tmp_path / ".lists.part").exists()
    assert json.loads((tmp_path / "lists" / "split.json").read_text())["list"]["urls"] == len(NAMES)


def test_a_list_that_changes_before_the_end_is_not_published(run: Run, site: Site, tmp_path: Path) -> None:
    urls = urls_of(site, 10)
    argv = ["fetch", "--shard", "1/1", "--into", "crawl", "--no-sync", "--quiet"]
    part = tmp_path / "crawl" / ".shard-00001-of-00001.part"
    part.mkdir(parents=True)
    # As after a kill: the rows and the journal of a longer list.
    run("fetch", "-o", str(part / "rows.csv"), "--resume", str(part / "journal"), "--no-sync", "-q", text=listed(urls))
    ended = run(*argv, text=listed(urls[:5]), code=2)
    assert "has 10 rows for 5 URLs of the list, which has changed since the shard was begun" in ended.stderr
    reports = sorted(part.glob("report-*.json"))
    ended = run(*argv, text=listed([urls[1], urls[0]]), code=2)
    assert ended.stderr.startswith("httpdyno: shard 1 of 1 was begun with other lines; begin it again as before, with")
    assert sorted(part.glob("report-*.json")) == reports, "a command that is refused is no start"
    assert not (tmp_path / "crawl" / "shard-00001-of-00001").exists()
    run(*argv, text=listed(urls))
    run("merge", "crawl")


class TestRecipes:
    """The recipes of the guide, with the variables of the scheduler, or with its programs replaced by local ones."""

    @pytest.fixture
    def urls(self, run: Run, site: Site) -> list[str]:
        urls = urls_of(site, 64)
        run("split", "-", "--shards", "16", "-o", "lists", text=listed(urls))
        return urls

    @staticmethod
    def check(run: Run, urls: Sequence[str], site: Site, tmp_path: Path) -> None:
        run("merge", "crawl", "-o", "rows.csv")
        assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)
        assert sum(site.paths.values()) == len(urls)

    def test_slurm(self, run: Run, urls: list[str], site: Site, variables: dict[str, str], tmp_path: Path) -> None:
        (script,) = (code for code in blocks(PAGE, "sh") if "#SBATCH" in code)
        (tmp_path / "crawl.sh").write_text(script)
        first, last = map(int, re.findall(r"^#SBATCH --array=(\d+)-(\d+)$", script, re.MULTILINE)[0])
        array = {"MIN": str(first), "MAX": str(last), "COUNT": str(last - first + 1), "STEP": "1"}
        # A task that is started again, as after --requeue, has the same variables.
        for task in [*range(first, last + 1), first]:
            slurm = {f"SLURM_ARRAY_TASK_{name}": value for name, value in (array | {"ID": str(task)}).items()}
            subprocess.run(["sh", "crawl.sh"], env=variables | slurm, cwd=tmp_path, timeout=PATIENCE_S, check=True)
        self.check(run, urls, site, tmp_path)

    def test_kubernetes(self, run: Run, urls: list[str], site: Site, variables: dict[str, str], tmp_path: Path) -> None:
        (job,) = blocks(PAGE, "yaml")
        command = json.loads(re.findall(r"command: (\[.*\])", job)[0])
        completions = int(re.findall(r"completions: (\d+)", job)[0])
        for index in range(completions):
            subprocess.run(
                [word.replace("/data/", f"{tmp_path}/") for word in command],
                env=variables | {"JOB_COMPLETION_INDEX": str(index)},
                timeout=PATIENCE_S,
                check=True,
            )
        self.check(run, urls, site, tmp_path)

    def test_plain_ssh(self, urls: list[str], site: Site, variables: dict[str, str], tmp_path: Path) -> None:
        (script,) = (code for code in blocks(PAGE, "sh") if "ssh " in code)
        hosts = ("one", "two", "three")
        (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        for host in hosts:
            (tmp_path / "nodes" / host).mkdir(parents=True)
        nodes = tmp_path / "nodes"
        # A machine is a folder here; words arrive as one line for its shell, as with ssh.
        programs = {
            "ssh": f'[ "$1" = -n ] && shift; cd "{nodes}/$1" && shift && exec sh -c "$*" < /dev/null',
            "scp": f'exec cp -r "$(echo "$3" | sed "s|^\\(.*\\):|{nodes}/\\1/|")" '
            f'"$(echo "$4" | sed "s|^\\(.*\\):|{nodes}/\\1/|")"',
        }
        for name, text in programs.items():
            (tmp_path / "programs" / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / "programs" / name).chmod(0o755)
        subprocess.run(["sh", "-e", "-c", script], env=variables, cwd=tmp_path, timeout=PATIENCE_S, check=True)
        assert Counter(rows_in(tmp_path / "rows.csv")) == Counter(urls)
        assert sum(site.paths.values()) == len(urls)
        assert valid(tmp_path / "report.json", "fetch-merge.schema.json")["urls"] == len(urls)
        assert all(list((tmp_path / f"crawl-{host}").glob("shard-*")) for host in hosts)
