"""`fetch` resolves names at a real name server (unbound), over UDP, TCP and TLS."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from httpdyno.lab.engine import Engine

from .test_proxies import free_port, listening

PATIENCE_S: Final = 300
NAMES: Final = 30
LABEL: Final = "a" * 60
"""Three such labels make a name of 190 bytes: a chain of three aliases does not fit into a datagram of 512 bytes."""
ZONE: Final = """
$TTL 60
@ SOA dns root 1 3600 600 86400 60
@ NS dns
dns A 127.0.0.1
*.many A 127.0.0.1
zero 0 A 127.0.0.1
long CNAME {0}.{0}.{0}.b
{0}.{0}.{0}.b CNAME {0}.{0}.{0}.c
{0}.{0}.{0}.c CNAME {0}.{0}.{0}.d
{0}.{0}.{0}.d A 127.0.0.1
"""
CONFIGURATION: Final = """
server:
  interface: 127.0.0.1@{port}
  interface: 127.0.0.1@{tls_port}
  tls-port: {tls_port}
  tls-service-key: "{folder}/dns.key"
  tls-service-pem: "{folder}/dns.pem"
  username: ""
  chroot: ""
  directory: "{folder}"
  pidfile: ""
  use-syslog: no
  do-ip6: no
  num-threads: 1
  extended-statistics: yes
  module-config: "iterator"
  # No query leaves this machine.
  do-not-query-localhost: no
  local-zone: "." refuse
  local-zone: "dyno.example." transparent
  local-zone: "broken.example." transparent
auth-zone:
  name: "dyno.example."
  zonefile: "{folder}/zone"
  for-downstream: yes
  for-upstream: no
forward-zone:
  name: "broken.example."
  forward-addr: 127.0.0.1@{closed}
  forward-tcp-upstream: yes
remote-control:
  control-enable: yes
  control-interface: "{folder}/control"
  control-use-cert: no
"""


@dataclass(frozen=True)
class Resolver:
    """The ports of a name server, its folder, and the program that shows its counts."""

    port: int
    tls_port: int
    folder: Path
    control: str

    def statistics(self) -> dict[str, int]:
        """Return its counts of queries: in all, over TCP (with TLS), over TLS."""
        argv = [self.control, "-c", str(self.folder / "unbound.conf"), "stats_noreset"]
        text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
        counts = dict(line.split("=", 1) for line in text.splitlines())
        return {kind: int(counts[name]) for kind, name in COUNTS.items()}


COUNTS: Final = {"all": "total.num.queries", "tcp": "num.query.tcp", "tls": "num.query.tls"}


def make_certificates(folder: Path) -> None:
    """Make an authority (ca.pem), and the certificate of dns.example and 127.0.0.1 (dns.pem)."""
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    (folder / "names").write_text("subjectAltName=DNS:dns.example,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n", "utf-8")
    for line in (
        f"req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority",
        f"req {key} -keyout dns.key -out dns.csr -subj /CN=dns.example",
        "x509 -req -in dns.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out dns.pem",
    ):
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resolver]:
    path = f"{os.environ['PATH']}:/usr/sbin"
    program, control = (shutil.which(name, path=path) for name in ("unbound", "unbound-control"))
    if program is None or control is None:
        pytest.skip("unbound is missing (Debian: unbound)")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing (Debian: openssl)")
    folder = tmp_path_factory.mktemp("unbound")
    make_certificates(folder)
    at = Resolver(free_port(), free_port(), folder, control)
    (folder / "zone").write_text(ZONE.format(LABEL), "utf-8")
    text = CONFIGURATION.format(port=at.port, tls_port=at.tls_port, folder=folder, closed=free_port())
    (folder / "unbound.conf").write_text(text, "utf-8")
    with listening(program, "-d", "-c", str(folder / "unbound.conf"), port=at.tls_port):
        yield at


@pytest.fixture(scope="module")
def web(engine: Engine) -> Iterator[int]:
    port = free_port()
    with listening(str(engine.path), "origin", "--web", "plain", "--listen", f"127.0.0.1:{port}", port=port):
        yield port


@dataclass(frozen=True)
class Fetch:
    """Crawls of hosts at one server."""

    engine: Engine
    folder: Path
    web: int

    def __call__(self, hosts: list[str], *options: str) -> tuple[dict[str, str], list[str], dict[str, Any]]:
        """Return the code of each host, the messages, and the report."""
        report = self.folder / "report.json"
        limits = ("--timeout", "60s", "--dead-after", "0", "--quiet", "--report", str(report))
        ended = subprocess.run(
            [str(self.engine.path), "fetch", *limits, *options],
            env={"PATH": os.environ["PATH"]},
            input="".join(f"http://{host}:{self.web}/plain\n" for host in hosts),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        codes = [row.split(",")[:2] for row in ended.stdout.splitlines()]
        assert len(codes) == len(hosts)
        by_host = {url.removeprefix("http://").split(":")[0]: code for url, code in codes}
        return by_host, ended.stderr.splitlines(), json.loads(report.read_text("utf-8"))


@pytest.fixture
def fetch(engine: Engine, tmp_path: Path, web: int) -> Fetch:
    return Fetch(engine, tmp_path, web)


def many() -> list[str]:
    return [f"host{number}.many.dyno.example" for number in range(NAMES)]


@pytest.mark.parametrize(
    ("form", "over"),
    [
        ("127.0.0.1:{port}", []),
        ("udp://127.0.0.1:{port}", []),
        ("tcp://127.0.0.1:{port}", ["tcp"]),
        ("tls://127.0.0.1:{tls_port}#dns.example", ["tcp", "tls"]),
        ("tls://127.0.0.1:{tls_port}", ["tcp", "tls"]),
    ],
)
def test_names_are_resolved_over_each_transport(fetch: Fetch, resolver: Resolver, form: str, over: list[str]) -> None:
    before = resolver.statistics()
    server = form.format(port=resolver.port, tls_port=resolver.tls_port)
    codes, messages, report = fetch(many(), "--nameserver", server, "--cacert", str(resolver.folder / "ca.pem"))
    assert codes == dict.fromkeys(many(), "200")
    assert messages == []
    after = resolver.statistics()
    queries = {kind: after[kind] - before[kind] for kind in COUNTS}
    # On a busy machine a datagram may be repeated.
    assert queries["all"] >= report["dns"]["queries"] >= NAMES
    for kind in ("tcp", "tls"):
        assert queries[kind] == (queries["all"] if kind in over else 0)


def test_a_truncated_answer_is_queried_again_over_tcp(fetch: Fetch, resolver: Resolver) -> None:
    before = resolver.statistics()
    codes, _, _ = fetch(["long.dyno.example"], "--nameserver", f"127.0.0.1:{resolver.port}")
    assert codes == {"long.dyno.example": "200"}
    after = resolver.statistics()
    assert after["tcp"] > before["tcp"]
    assert after["all"] - before["all"] > after["tcp"] - before["tcp"]


@pytest.mark.parametrize("scheme", ["udp", "tcp", "tls"])
def test_the_next_server_answers_where_the_first_is_dead(fetch: Fetch, resolver: Resolver, scheme: str) -> None:
    dead = f"{scheme}://127.0.0.1:{free_port()}"
    codes, messages, _ = fetch(many(), "--nameserver", f"{dead},127.0.0.1:{resolver.port}")
    assert codes == dict.fromkeys(many(), "200")
    # One message for all lookups.
    (message,) = messages
    shown = dead.removeprefix("udp://")
    cure = "start it, or give another address or port: --nameserver"
    assert message.endswith(f"name server {shown}: the connection was refused; {cure}")


def test_a_silent_server_is_followed_by_the_next(fetch: Fetch, resolver: Resolver) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{silent.getsockname()[1]},127.0.0.1:{resolver.port}"
        codes, messages, _ = fetch(many(), "--nameserver", servers, "--connect-timeout", "6s")
    assert (codes, messages) == (dict.fromkeys(many(), "200"), [])


@pytest.mark.parametrize(
    ("name", "trusts", "message"),
    [
        (
            "dns.example",
            False,
            "the certificate is not signed by a trusted authority; trust its authority: --cacert FILE",
        ),
        (
            "other.example",
            True,
            "the certificate is not for this host; name it as its certificate does: --nameserver tls://{}#NAME",
        ),
    ],
)
def test_a_wrong_certificate_is_named_with_the_cure(
    fetch: Fetch, resolver: Resolver, name: str, message: str, *, trusts: bool
) -> None:
    place = f"127.0.0.1:{resolver.tls_port}"
    server = ("--nameserver", f"tls://{place}#{name}")
    trusted = ("--cacert", str(resolver.folder / "ca.pem")) if trusts else ()
    codes, messages, _ = fetch(many(), *server, *trusted)
    assert set(codes.values()) == {"ResolverFailed"}
    (line,) = messages
    assert line.endswith(f"name server tls://{place}#{name}: {message.format(place)}")
    codes, messages, _ = fetch(many(), *server, "--insecure")
    assert (set(codes.values()), messages) == ({"200"}, [])


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_a_missing_name_and_a_failing_zone_are_distinguished(fetch: Fetch, resolver: Resolver, scheme: str) -> None:
    expected = {
        "zero.dyno.example": "200",
        "missing.dyno.example": "HostNotFound",
        "a.broken.example": "ResolverFailed",
        "refused.example": "ResolverFailed",
    }
    codes, messages, _ = fetch(list(expected), "--nameserver", f"{scheme}://127.0.0.1:{resolver.port}")
    assert (codes, messages) == (expected, [])


@pytest.mark.parametrize("name", ["host1.many.dyno.example", "missing.dyno.example"])
def test_an_answer_is_queried_once(fetch: Fetch, resolver: Resolver, name: str) -> None:
    _, _, once = fetch([name], "--nameserver", f"127.0.0.1:{resolver.port}")
    _, _, often = fetch([name] * 50, "--nameserver", f"127.0.0.1:{resolver.port}", "--concurrency", "5")
    assert often["dns"]["queries"] == once["dns"]["queries"]
