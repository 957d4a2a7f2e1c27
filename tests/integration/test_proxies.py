"""`load` and `fetch` through real proxies: tinyproxy forwards and tunnels HTTP, microsocks speaks SOCKS 5."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from httpdyno.lab.engine import Engine

PATIENCE_S: Final = 300
PASSWORD: Final = "pl-anted9"
USER_INFO: Final = "me:pl-ant%65d9"
SECRET: Final = "pl-an"
"""What passwords have in common."""
CONFIGURATION: Final = """
Port {port}
Listen 127.0.0.1
Timeout 600
MaxClients 100
LogFile "{log}"
LogLevel Info
ConnectPort {tls}
{more}
"""


@dataclass(frozen=True)
class Origin:
    """The ports of a web."""

    http: int
    tls: int


@dataclass(frozen=True)
class HttpProxy:
    """The place of a proxy, and what it received."""

    place: str
    log: Path

    def received(self) -> list[str]:
        """Return the request lines that it received."""
        lines = self.log.read_text("utf-8").splitlines()
        return [line.split("): ", 1)[1] for line in lines if "Request (file descriptor" in line]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def listening(*argv: str, port: int) -> Iterator[None]:
    """Run a server until it is not needed any more."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            while True:
                assert server.poll() is None, f"{argv[0]} ended: {server.returncode}"
                with socket.socket() as client:
                    if not client.connect_ex(("127.0.0.1", port)):
                        break
            yield
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def origin(engine: Engine) -> Iterator[Origin]:
    at = Origin(free_port(), free_port())
    listen = ("--listen", f"127.0.0.1:{at.http}", "--tls-port", str(at.tls))
    with listening(str(engine.path), "origin", "--web", "plain", *listen, port=at.tls):
        yield at


@contextmanager
def tinyproxy(origin: Origin, folder: Path, more: str = "") -> Iterator[HttpProxy]:
    program = shutil.which("tinyproxy")
    if program is None:
        pytest.skip("tinyproxy is missing (Debian: tinyproxy-bin)")
    port, log, file = free_port(), folder / "tinyproxy.log", folder / "tinyproxy.conf"
    file.write_text(CONFIGURATION.format(port=port, log=log, tls=origin.tls, more=more), "utf-8")
    with listening(program, "-d", "-c", str(file), port=port):
        yield HttpProxy(f"127.0.0.1:{port}", log)


@pytest.fixture
def http_proxy(origin: Origin, tmp_path: Path) -> Iterator[HttpProxy]:
    with tinyproxy(origin, tmp_path) as proxy:
        yield proxy


@pytest.fixture
def closed_proxy(origin: Origin, tmp_path: Path) -> Iterator[HttpProxy]:
    """Run a proxy that wants a user and a password."""
    with tinyproxy(origin, tmp_path, more=f"BasicAuth me {PASSWORD}") as proxy:
        yield proxy


@contextmanager
def microsocks(*options: str) -> Iterator[str]:
    program = shutil.which("microsocks")
    if program is None:
        pytest.skip("microsocks is missing (Debian: microsocks)")
    port = free_port()
    with listening(program, "-i", "127.0.0.1", "-p", str(port), *options, port=port):
        yield f"127.0.0.1:{port}"


@pytest.fixture
def run(engine: Engine, tmp_path: Path) -> "Run":
    return Run(engine, tmp_path)


@dataclass(frozen=True)
class Run:
    """Runs of the engine without the proxies of this machine."""

    engine: Engine
    folder: Path

    def __call__(self, *words: str, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.engine.path), *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def load(self, url: str, *options: str, **variables: str) -> dict[str, Any]:
        """Return the report of six requests."""
        sent = ("--connections", "2", "--requests", "6", "--timeout", "60s", "--insecure", "--report", "-")
        ended = self("load", url, *sent, *options, **variables)
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout) | {"stderr": ended.stderr}  # type: ignore[no-any-return]


def test_an_http_proxy_forwards_plain_requests(run: Run, origin: Origin, http_proxy: HttpProxy) -> None:
    url, proxy = f"http://localhost:{origin.http}/plain?a=b", f"http://{http_proxy.place}"
    report = run.load(url, "--proxy", proxy)
    assert report["statuses"] == {"200": 6}
    assert report["plan"]["proxy"] == f"{proxy} (from --proxy)"
    assert report["stderr"] == f"httpdyno-engine: proxy: {proxy} (from --proxy)\n"
    assert http_proxy.received() == [f"GET {url} HTTP/1.1"] * 6


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_an_http_proxy_opens_tunnels_for_tls(run: Run, origin: Origin, http_proxy: HttpProxy, version: str) -> None:
    url = f"https://localhost:{origin.tls}/plain"
    report = run.load(url, "--proxy", http_proxy.place, "--http-version", version)
    assert (report["statuses"], report["versions"]) == ({"200": 6}, {f"HTTP/{version}": 6})
    assert set(http_proxy.received()) == {f"CONNECT localhost:{origin.tls} HTTP/1.1"}
    assert len(http_proxy.received()) == report["connections"]["opened"] == report["phases"]["connect"]["count"]


def test_a_refused_tunnel_names_the_status(run: Run, origin: Origin, http_proxy: HttpProxy) -> None:
    # Tunnels to this port are not allowed. HTTP/2 is never forwarded.
    url = f"http://127.0.0.1:{origin.http}/plain"
    report = run.load(url, "--proxy", http_proxy.place, "--http2", "--rate", "100")
    assert report["errors"] == {"ProxyRefused: 403": 6}
    assert report["validity"] is None


def test_a_server_that_is_connected_to_instead_needs_a_tunnel(run: Run, origin: Origin, http_proxy: HttpProxy) -> None:
    place = f"a.example:443:127.0.0.1:{origin.tls}"
    report = run.load("https://a.example/plain", "--proxy", http_proxy.place, "--connect-to", place)
    assert report["statuses"] == {"200": 6}
    assert set(http_proxy.received()) == {f"CONNECT 127.0.0.1:{origin.tls} HTTP/1.1"}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_credentials_go_to_the_proxy_and_nowhere_else(
    run: Run, origin: Origin, closed_proxy: HttpProxy, scheme: str
) -> None:
    url = f"{scheme}://localhost:{origin.http if scheme == 'http' else origin.tls}/plain"
    report = run.load(url, "--proxy", f"http://{USER_INFO}@{closed_proxy.place}")
    assert report["statuses"] == {"200": 6}
    sent = ("load", url, "--requests", "6", "--insecure", "--timeout", "60s", "--connections", "2")
    kept = run(*sent, "--proxy", f"{USER_INFO}@{closed_proxy.place}")
    assert kept.returncode == 0
    stored = "".join(path.read_text("utf-8") for path in (run.folder / "runs").glob("*/*.json"))
    for text in (json.dumps(report), kept.stderr, kept.stdout, stored):
        assert closed_proxy.place in text
        assert SECRET not in text
    assert f"***@{closed_proxy.place}" in stored


def test_missing_credentials_are_named_with_the_cure(run: Run, origin: Origin, closed_proxy: HttpProxy) -> None:
    cure = "--proxy http://user:password@host:port"
    once = ("--requests", "2", "--connections", "1", "--insecure", "--no-store", "--proxy", closed_proxy.place)
    ended = run("load", f"https://localhost:{origin.tls}/", *once)
    last = ended.stderr.splitlines()[-1]
    assert (ended.returncode, "x ProxyRefused: 407; " in last, cure in last) == (3, True, True)
    ended = run("load", f"http://localhost:{origin.http}/", *once)
    note = " ".join(ended.stdout.split())
    assert (ended.returncode, "status 407: it wants credentials, " + cure in note) == (0, True)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_carries_every_version(run: Run, origin: Origin, scheme: str) -> None:
    with microsocks() as place:
        for url, version in [
            (f"http://localhost:{origin.http}/plain", "1.1"),
            (f"http://127.0.0.1:{origin.http}/plain", "2"),
            (f"https://localhost:{origin.tls}/plain", "1.1"),
            (f"https://localhost:{origin.tls}/plain", "2"),
        ]:
            report = run.load(url, "--proxy", f"{scheme}://{place}", "--http-version", version)
            assert (report["statuses"], report["versions"]) == ({"200": 6}, {f"HTTP/{version}": 6})
            assert report["plan"]["proxy"] == f"{scheme}://{place} (from --proxy)"


def test_a_socks_proxy_checks_user_and_password(run: Run, origin: Origin) -> None:
    url = f"http://127.0.0.1:{origin.http}/plain"
    with microsocks("-u", "me", "-P", "p:l@n/%") as place:
        assert run.load(url, "--proxy", f"socks5://me:p%3al%40n%2F%25@{place}")["statuses"] == {"200": 6}
        for user, reason in [("", "authentication_required"), ("me:wrong@", "authentication_failed")]:
            errors = run.load(url, "--proxy", f"socks5://{user}{place}")["errors"]
            assert set(errors) == {f"ProxyRefused: {reason}"}


def test_a_server_or_a_proxy_out_of_reach_has_its_name(run: Run, origin: Origin) -> None:
    closed = free_port()
    with microsocks() as place:
        errors = run.load(f"http://127.0.0.1:{closed}/", "--proxy", f"socks5://{place}")["errors"]
        assert set(errors) == {"ProxyRefused: connection_refused"}
    for scheme in ("http", "socks5h"):
        errors = run.load(f"http://127.0.0.1:{origin.http}/", "--proxy", f"{scheme}://127.0.0.1:{closed}")["errors"]
        assert set(errors) == {"ProxyUnreachable: ConnectionRefused"}
    # A server of HTTP that is no proxy of SOCKS.
    errors = run.load(f"http://127.0.0.1:{closed}/", "--proxy", f"socks5://127.0.0.1:{origin.http}")["errors"]
    assert set(errors) == {"ProxyProtocol"}


def test_a_silent_proxy_is_a_timeout_of_its_own(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = ("--proxy", f"socks5://127.0.0.1:{silent.getsockname()[1]}")
        report = run.load("http://127.0.0.1:1/", *proxy, "--timeout", "200ms")
        assert set(report["errors"]) == {"ProxyTimeout"}
        # Requests that wait for it at the end are counted.
        report = run.load("http://127.0.0.1:1/", *proxy, "--duration", "200ms", "--no-keepalive")
        assert (report["errors"], report["censored"]["count"]) == ({}, 2)


def test_the_environment_names_proxies_and_hosts_without_one(run: Run, origin: Origin, http_proxy: HttpProxy) -> None:
    url, place = f"http://localhost:{origin.http}/plain", http_proxy.place
    report = run.load(url, http_proxy=place)
    assert report["plan"]["proxy"] == f"http://{place} (from http_proxy)"
    assert len(http_proxy.received()) == 6
    for options, variables in [
        ((), {"HTTP_PROXY": place}),
        ((), {"http_proxy": place, "no_proxy": "localhost"}),
        (("--no-proxy", "*"), {"http_proxy": place}),
        (("--proxy", ""), {"http_proxy": place}),
    ]:
        report = run.load(url, *options, **variables)
        assert (report["statuses"], report["plan"]["proxy"], report["stderr"]) == ({"200": 6}, None, "")
    report = run.load(url, "--proxy", place, no_proxy="localhost")
    assert (report["statuses"], report["plan"]["proxy"]) == ({"200": 6}, None)
    assert "proxy: not used" in report["stderr"]
    assert len(http_proxy.received()) == 6


def test_fetch_goes_through_proxies_by_scheme_and_host(run: Run, origin: Origin, http_proxy: HttpProxy) -> None:
    urls = [
        f"http://localhost:{origin.http}/plain",
        f"http://127.0.0.1:{origin.http}/plain",
        f"https://localhost:{origin.tls}/plain",
        f"http://a.localhost:{origin.http}/plain",
    ]
    with microsocks() as socks:
        variables = {"http_proxy": http_proxy.place, "https_proxy": f"socks5h://{socks}", "no_proxy": "127.0.0.0/8"}
        words = ("fetch", "--quiet", "--insecure", "--timeout", "60s", "--report", "report.json")
        # tinyproxy looks up names as this machine does, which may not know this one: it is connected to by its address.
        place = f"a.localhost:{origin.http}:127.0.0.1:{origin.http}"
        ended = run(*words, "--connect-to", place, stdin="\n".join(urls), **variables)
        codes = {line.split(",")[0]: line.split(",")[1] for line in ended.stdout.splitlines()}
        assert {url: codes[url] for url in urls[:3]} == dict.fromkeys(urls[:3], "200")
        # A tunnel, which this proxy does not allow to this port.
        assert codes[urls[3]] == "ProxyRefused"
        report = json.loads((run.folder / "report.json").read_text("utf-8"))
        both = f"http://{http_proxy.place} (from http_proxy), socks5h://{socks} (from https_proxy)"
        assert (report["proxy"], ended.stderr) == (both, f"httpdyno-engine: proxy: {both}\n")
    assert sorted(http_proxy.received()) == [
        f"CONNECT 127.0.0.1:{origin.http} HTTP/1.1",
        f"GET {urls[0]} HTTP/1.1",
    ]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_fetch_logs_in_to_its_proxy(run: Run, origin: Origin, closed_proxy: HttpProxy, scheme: str) -> None:
    url = f"{scheme}://localhost:{origin.http if scheme == 'http' else origin.tls}/plain"
    words = ("fetch", "--insecure", "--timeout", "60s", "--proxy")
    for user, code in [(f"{USER_INFO}@", "200"), ("", "407" if scheme == "http" else "ProxyRefused")]:
        ended = run(*words, f"http://{user}{closed_proxy.place}", stdin=f"{url}\n")
        assert ended.stdout.splitlines()[-1].split(",")[1] == code
        assert SECRET not in ended.stderr + ended.stdout
