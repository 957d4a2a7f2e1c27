"""`fetch --save s3://...` with an object store: versitygw, whose objects are files of a folder."""

import csv
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from doubles.loopback_site import Site
from httpdyno.lab.engine import Engine
from httpdyno.subjects.cache import program_path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test-key", "AWS_SECRET_ACCESS_KEY": "test-secret"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Store:
    """An object store, and the folder of its bucket `pages`."""

    url: str
    bucket: Path
    process: "subprocess.Popen[bytes]"

    def objects(self) -> dict[str, bytes]:
        """Return the objects by name."""
        files = (path for path in self.bucket.rglob("*") if path.is_file())
        return {str(path.relative_to(self.bucket)): path.read_bytes() for path in files}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    program = ROOT / "target" / "object_store" / "versitygw"
    if not program.exists():
        if shutil.which("go", path=program_path()) or os.environ.get("CI"):
            pytest.fail("no versitygw, though this machine can build it: run scripts/setup-tests")
        pytest.skip(
            "no versitygw and no go to build it with: httpdyno subjects install go-net-http, scripts/setup-tests"
        )
    folder = tmp_path / "store"
    (folder / "pages").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secret = ["--access", CREDENTIALS["AWS_ACCESS_KEY_ID"], "--secret", CREDENTIALS["AWS_SECRET_ACCESS_KEY"]]
    argv = [str(program), *secret, "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not listens(port):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield Store(f"http://127.0.0.1:{port}", folder / "pages", process)
        finally:
            process.kill()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run(engine: Engine, store: Store, tmp_path: Path) -> Run:
    def command(*words: str, text: str = "", code: int = 0, **more: str) -> "subprocess.CompletedProcess[str]":
        ended = subprocess.run(
            [engine.path, *words],
            input=text,
            env=os.environ | CREDENTIALS | {"AWS_ENDPOINT_URL": store.url} | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == code, (words, ended.stderr)
        return ended

    return command


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def urls_of(site: Site, count: int) -> list[str]:
    return [f"http://127.0.1.{1 + page % 50}:{site.server_port}/page/{page}" for page in range(count)]


def listed(urls: list[str]) -> str:
    return "".join(f"{url}\n" for url in urls)


def place(url: str) -> str:
    name = hashlib.sha256(url.encode()).hexdigest()
    return f"{name[:2]}/{name}"


def index_of(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()]


def test_contents_go_to_the_bucket_and_the_index_stays(run: Run, store: Store, site: Site, tmp_path: Path) -> None:
    urls = urls_of(site, 200)
    words = ["fetch", "--save", "s3://pages/crawl/1", "--resume", "journal", "-o", "rows.csv"]
    run(*words, text=listed(urls))
    run("fetch", "--save", "folder", "-o", "others.csv", text=listed(urls))
    expected = {place(url): (tmp_path / "folder" / place(url)).read_bytes() for url in urls}
    assert store.objects() == {f"crawl/1/{name}": content for name, content in expected.items()}
    index = index_of(tmp_path / "journal.contents")
    assert {(entry["url"], entry["file"]) for entry in index} == {
        (url, f"s3://pages/crawl/1/{place(url)}") for url in urls
    }
    assert all(entry["bytes"] == len(expected[place(str(entry["url"]))]) for entry in index)
    assert [path.name for path in (tmp_path / "journal.contents").iterdir()] == ["index.jsonl"]
    # Nothing is requested or uploaded again.
    times = {path: path.stat().st_mtime_ns for path in store.bucket.rglob("*")}
    run(*words, text=listed(urls))
    assert {path: path.stat().st_mtime_ns for path in store.bucket.rglob("*")} == times


def test_a_killed_crawl_continues(engine: Engine, run: Run, store: Store, site: Site, tmp_path: Path) -> None:
    urls = urls_of(site, 2000)
    words = ["fetch", "--save", "s3://pages", "--resume", "journal", "-o", "rows.csv", "-c", "20", "--no-sync"]
    environment = os.environ | CREDENTIALS | {"AWS_ENDPOINT_URL": store.url}
    (tmp_path / "urls.txt").write_text(listed(urls), encoding="utf-8")
    with (tmp_path / "urls.txt").open("rb") as text:
        fetch = subprocess.Popen([engine.path, *words, "--quiet"], stdin=text, env=environment, cwd=tmp_path)
    rows = tmp_path / "rows.csv"
    deadline = time.monotonic() + PATIENCE_S
    while not rows.exists() or rows.read_text(encoding="utf-8").count("\n") < 300:
        assert fetch.poll() is None, "the crawl ended before"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    fetch.send_signal(signal.SIGKILL)
    fetch.wait()
    run(*words, text=listed(urls))
    with rows.open(encoding="utf-8", newline="") as file:
        assert Counter(row[0] for row in csv.reader(file)) == Counter(urls)
    assert set(store.objects()) == {place(url) for url in urls}
    assert {entry["url"] for entry in index_of(tmp_path / "journal.contents")} == set(urls)


def test_a_shard_has_its_index_and_is_merged(run: Run, store: Store, site: Site, tmp_path: Path) -> None:
    urls = urls_of(site, 100)
    for number in (1, 2):
        words = ["--shard", f"{number}/2", "--into", "crawl", "--save", "s3://pages/all"]
        run("fetch", *words, "--no-sync", text=listed(urls))
    run("merge", "crawl", "-o", "rows.csv")
    entries = [entry for folder in (tmp_path / "crawl").glob("shard-*") for entry in index_of(folder / "contents")]
    assert sorted(str(entry["url"]) for entry in entries) == sorted(urls)
    assert set(store.objects()) == {f"all/{place(url)}" for url in urls}


def test_what_is_wrong_is_one_line(run: Run, store: Store, site: Site, tmp_path: Path) -> None:
    urls = listed(urls_of(site, 5))

    def refusal(place: str, *words: str, code: int = 2, **more: str) -> str:
        given = ["--save", place, *(words or ("--resume", "journal"))]
        ended = run("fetch", *given, "--quiet", text=urls, code=code, **more)
        assert ended.stderr.count("\n") == 1, ended.stderr
        assert ended.stdout == ""
        return ended.stderr

    name = "httpdyno-engine: --save "
    assert refusal("s3://") == f"{name}s3://: it names no bucket; write it like s3://bucket/crawl\n"
    missing = refusal("s3://pages", AWS_SECRET_ACCESS_KEY="")
    assert missing == f"{name}s3://pages: it needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n"
    assert "'127.0.0.1' is not the URL of a store" in refusal("s3://pages", AWS_ENDPOINT_URL="127.0.0.1").replace(
        '"', "'"
    )
    assert "add --resume FILE" in refusal("s3://pages", "--timeout", "60s")
    assert refusal("s3://other/x") == f"{name}s3://other/x: the store at {store.url} answered 404 (NoSuchBucket)\n"
    wrong = refusal("s3://pages", AWS_SECRET_ACCESS_KEY="other")
    assert wrong == f"{name}s3://pages: the store at {store.url} answered 403 (SignatureDoesNotMatch)\n"
    assert not (tmp_path / "journal").exists() or not (tmp_path / "journal").read_bytes().strip()
    store.process.kill()
    store.process.wait()
    down = refusal("s3://pages", code=125)
    assert down.startswith(f"{name}s3://pages: the store at {store.url} cannot be used: ")
    assert store.objects() == {}
