"""`httpdyno fetch --robots`: what a server sees, the rows of forbidden URLs, and the report."""

import json
import socketserver
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from warcio.archiveiterator import ArchiveIterator

from httpdyno.lab.engine import Engine

PATIENCE_S: Final = 300.0
USER_AGENT: Final = "testbot/1.0 (+https://example.org/testbot)"
FORBIDS: Final = "User-agent: *\nDisallow: /\n\nUser-agent: TestBot\nDisallow: /private/\nAllow: /private/open\n"


def message(body: bytes, status: str = "200 OK", fields: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def moved(to: str) -> bytes:
    return message(b"", "301 Moved Permanently", f"Location: {to}\r\n")


@dataclass(slots=True)
class Site:
    """A server for all names; answers by name and path, and keeps the requests in their order."""

    answers: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    user_agents: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    port: int = 0

    def answer(self, head: str) -> bytes:
        method, path = head.split(" ")[:2]
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        place = fields["Host"].split(":")[0] + path
        self.requests.append(place)
        self.methods.add(f"{method} {path}")
        self.user_agents.add(fields["User-Agent"])
        whole = self.answers.get(place, message(b"page"))
        return whole.split(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else whole


@pytest.fixture
def site() -> Iterator[Site]:
    known = Site()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while True:
                    lines = []
                    while (line := self.rfile.readline()) not in (b"\r\n", b""):
                        lines.append(line.decode().rstrip("\r\n"))
                    if not lines:
                        return
                    whole = known.answer("\r\n".join(lines))
                    if not whole:
                        return
                    self.wfile.write(whole)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        known.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield known
        server.shutdown()


Crawl = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def crawl(engine: Engine, tmp_path: Path, site: Site) -> Crawl:
    """Fetch URLs of the site with `--robots`; return the rows by URL, and the report as the row `report`."""

    def run(*arguments: str, urls: list[str]) -> dict[str, dict[str, Any]]:
        report = tmp_path / "report.json"
        command = [
            str(engine.path),
            "fetch",
            "--robots",
            "--user-agent",
            USER_AGENT,
            "--timeout",
            "60s",
            "--allow-private",
        ]
        ended = subprocess.run(
            [
                *command,
                "--connect-to",
                f":80:127.0.0.1:{site.port}",
                "--format",
                "jsonl",
                "--report",
                report,
                *arguments,
            ],
            input="".join(f"{url}\n" for url in urls),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        rows = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(rows) == len(urls)
        return {row["url"]: row for row in rows} | {"report": json.loads(report.read_text())}

    return run


def outcome(row: dict[str, Any]) -> object:
    return row["error"] or row["status"]


def test_a_forbidden_url_is_not_requested(crawl: Crawl, site: Site) -> None:
    site.answers["a.test/robots.txt"] = message(FORBIDS.encode())
    urls = [f"http://a.test/{path}" for path in ("", "private/x", "private/open", "%70rivate/y")]
    rows = crawl(urls=urls)
    assert [outcome(rows[url]) for url in urls] == [200, "Disallowed", 200, "Disallowed"]
    row = rows["http://a.test/private/x"]
    assert row["error_text"] == "robots.txt forbids http://a.test/private/x"
    assert (row["waited_for"], row["final_url"], row["chain"]) == (None, None, [])
    assert Counter(site.requests) == Counter(["a.test/robots.txt", "a.test/", "a.test/private/open"])
    assert site.user_agents == {USER_AGENT}
    assert rows["report"]["robots"] == {"asked": 1, "absent": 0, "unreachable": 0, "disallowed_urls": 2}


def test_each_host_is_asked_once(crawl: Crawl, site: Site) -> None:
    urls = [f"http://{host}.test/{number}" for number in range(50) for host in "ab"]
    rows = crawl("--concurrency", "20", urls=urls)
    assert all(outcome(rows[url]) == 200 for url in urls)
    assert site.requests.index("a.test/robots.txt") < site.requests.index("a.test/0")
    asked = Counter(request for request in site.requests if request.endswith("robots.txt"))
    assert asked == {"a.test/robots.txt": 1, "b.test/robots.txt": 1}
    assert len(site.requests) == 102


def test_the_status_of_robots_txt_decides(crawl: Crawl, site: Site) -> None:
    cases = {
        "404 Not Found": 200,
        "401 Unauthorized": 200,
        "410 Gone": 200,
        "204 No Content": 200,
        "304 Not Modified": 200,
        "429 Too Many Requests": "Disallowed",
        "500 Internal Server Error": "Disallowed",
        "503 Service Unavailable": "Disallowed",
    }
    for status in cases:
        site.answers[f"h{status[:3]}.test/robots.txt"] = message(b"" if status[0] == "2" else FORBIDS.encode(), status)
    # Cut short: an error after a status decides nothing, an error of the rules does.
    site.answers["cut404.test/robots.txt"] = (
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\nConnection: close\r\n\r\nx"
    )
    site.answers["cut200.test/robots.txt"] = b""
    found = {f"http://h{status[:3]}.test/": expected for status, expected in cases.items()}
    found |= {"http://cut404.test/": 200, "http://cut200.test/": "Disallowed"}
    rows = crawl(urls=list(found))
    assert {url: outcome(rows[url]) for url in found} == found
    forbidden = "robots.txt cannot be read ({}), so http://{}.test/ is forbidden"
    assert rows["http://h503.test/"]["error_text"] == forbidden.format("503", "h503")
    assert rows["http://cut200.test/"]["error_text"] == forbidden.format("ClosedBeforeAnswer", "cut200")
    assert rows["report"]["robots"] == {"asked": 10, "absent": 5, "unreachable": 4, "disallowed_urls": 4}
    assert "h503.test/" not in site.requests


def test_a_host_that_cannot_be_reached_has_its_own_error(crawl: Crawl, site: Site) -> None:
    urls = [f"http://127.0.0.1:1/{number}" for number in range(5)]
    rows = crawl("--retries", "1", "--dead-after", "0", urls=urls)
    assert {outcome(rows[url]) for url in urls} == {"ConnectionRefused"}
    # Only robots.txt was tried, and once more.
    assert rows["report"]["connections"]["failed"] == 2
    assert site.requests == []


def test_redirects_of_robots_txt_are_followed(crawl: Crawl, site: Site) -> None:
    site.answers |= {
        "path.test/robots.txt": moved("/other.txt"),
        "path.test/other.txt": message(FORBIDS.encode()),
        "host.test/robots.txt": moved("http://path.test/other.txt"),
        "loop.test/robots.txt": moved("/robots.txt"),
    }
    urls = [f"http://{name}.test/private/" for name in ("path", "host", "loop")]
    rows = crawl("--concurrency", "1", urls=urls)
    assert [outcome(rows[url]) for url in urls] == ["Disallowed", "Disallowed", 200]
    # RFC 9309, 2.3.1.2: five redirects; then the file counts as absent.
    assert site.requests.count("loop.test/robots.txt") == 6
    # Rules are those of the host that was asked first: path.test has not forbidden anything of host.test.
    assert site.requests == [
        *("path.test/robots.txt", "path.test/other.txt", "host.test/robots.txt", "path.test/other.txt"),
        *["loop.test/robots.txt"] * 6,
        "loop.test/private/",
    ]


def test_targets_of_redirects_need_permission_too(crawl: Crawl, site: Site) -> None:
    site.answers |= {
        "a.test/robots.txt": message(FORBIDS.encode()),
        "b.test/robots.txt": message(FORBIDS.encode()),
        "a.test/same": moved("/private/x"),
        "a.test/other": moved("http://b.test/private/x"),
        "a.test/open": moved("http://b.test/private/open"),
    }
    urls = [f"http://a.test/{path}" for path in ("same", "other", "open")]
    rows = crawl(urls=urls)
    assert [outcome(rows[url]) for url in urls] == ["Disallowed", "Disallowed", 200]
    other = rows["http://a.test/other"]
    assert other["error_text"] == "robots.txt forbids http://b.test/private/x"
    assert (other["final_url"], other["waited_for"]) == ("http://a.test/other", None)
    assert not any("private/x" in request for request in site.requests)
    assert Counter(site.requests)["b.test/robots.txt"] == 1


def test_a_long_robots_txt_is_read_up_to_its_limit(crawl: Crawl, site: Site) -> None:
    lines = "".join(f"Disallow: /{number:08}\n" for number in range(600 * 1024 // 20))
    site.answers["a.test/robots.txt"] = message(f"User-agent: *\n{lines}".encode())
    urls = [f"http://a.test/{number:08}" for number in (0, 20_000, 30_000)]
    rows = crawl(urls=urls)
    assert [outcome(rows[url]) for url in urls] == ["Disallowed", "Disallowed", 200]
    assert rows["report"]["robots"]["unreachable"] == 0


def test_a_crawl_delay_holds_up_the_next_request_of_its_host_only(engine: Engine, site: Site) -> None:
    site.answers["slow.test/robots.txt"] = message(b"User-agent: testbot\nCrawl-delay: 86400\n")
    urls = [f"http://slow.test/{number}" for number in range(5)] + [
        f"http://fast.test/{number}" for number in range(20)
    ]
    command = [str(engine.path), "fetch", "--robots", "--user-agent", USER_AGENT, "--concurrency", "2"]
    with subprocess.Popen(
        [*command, "--connect-to", f":80:127.0.0.1:{site.port}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{url}\n" for url in urls))
        process.stdin.flush()
        # With two slots, the fast host is done only if those that wait for the slow one have none.
        done = {process.stdout.readline().split(",")[0] for _ in range(21)}
        process.terminate()
    slow = [request for request in site.requests if request.startswith("slow.test")]
    assert slow[0] == "slow.test/robots.txt"
    assert len(slow) == 2
    assert done == {f"http://{slow[1]}", *urls[5:]}


def test_robots_txt_needs_its_content_whatever_the_rows_have(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    site.answers["a.test/robots.txt"] = message(FORBIDS.encode())
    rows = crawl("--method", "HEAD", urls=["http://a.test/private/x", "http://a.test/y"])
    assert outcome(rows["http://a.test/private/x"]) == "Disallowed"
    assert site.methods == {"GET /robots.txt", "HEAD /y"}
    rows = crawl("--save", "pages", urls=["http://a.test/private/x", "http://a.test/y", "http://a.test/robots.txt"])
    assert outcome(rows["http://a.test/robots.txt"]) == 200
    index = [json.loads(line)["url"] for line in (tmp_path / "pages" / "index.jsonl").read_text().splitlines()]
    assert sorted(index) == ["http://a.test/robots.txt", "http://a.test/y"]


def test_an_archive_has_robots_txt(crawl: Crawl, site: Site, tmp_path: Path) -> None:
    site.answers["a.test/robots.txt"] = message(FORBIDS.encode())
    crawl("--warc", "crawl.warc.gz", urls=["http://a.test/", "http://a.test/private/x"])
    with next(tmp_path.glob("crawl*.warc.gz")).open("rb") as archive:
        records = [
            (record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
            for record in ArchiveIterator(archive)
            if record.rec_type == "response"
        ]
    assert records == [("http://a.test/robots.txt", FORBIDS.encode()), ("http://a.test/", b"page")]
