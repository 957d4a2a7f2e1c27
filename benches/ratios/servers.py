"""The servers of the cases: nginx in its best configuration, and the origin, both on CPUs that the caller names."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import NothingMeasured
from ratios.place import Place, free_port, wait_for_port
from ratios.processes import Server

__all__ = ["Serving", "nginx", "nginx_version", "origin"]

_BYTES: Final = 16384
_NGINX: Final = """\
worker_processes 1;
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
worker_rlimit_nofile {descriptors};
events {{ worker_connections {connections}; multi_accept on; use epoll; }}
http {{
    log_format resumed "$ssl_session_reused";
    access_log {log};
    server_tokens off;
    sendfile {sendfile};
    tcp_nopush {sendfile};
    tcp_nodelay on;
    keepalive_requests 1000000000;
    keepalive_timeout 600;
    http2_max_requests 1000000000;
    http2_max_concurrent_streams 1000;
    open_file_cache max=100 inactive=3600s;
    open_file_cache_valid 3600s;
    output_buffers 1 64k;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    default_type text/plain;
    ssl_certificate {folder}/leaf.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache off;
    server {{
        listen 127.0.0.1:{http} backlog=16384 reuseport;
        listen 127.0.0.1:{http2} http2 backlog=16384 reuseport;
        listen 127.0.0.1:{https} ssl backlog=16384 reuseport;
        root {folder}/www;
        location = /plain {{ return 200 "Hello, World!"; }}
    }}
}}
"""
_DESCRIPTORS: Final = 20000
_CONNECTIONS: Final = 16000


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens."""

    server: Server
    http: int
    """Port of HTTP/1.1 without TLS."""
    http2: int
    """Port of HTTP/2 with prior knowledge; the same where one port speaks both."""
    https: int

    def url(self, path: str = "/plain") -> str:
        """Give a URL of HTTP/1.1."""
        return f"http://127.0.0.1:{self.http}{path}"

    def http2_url(self, path: str = "/plain") -> str:
        """Give a URL to ask with HTTP/2, without TLS and without asking first."""
        return f"http://127.0.0.1:{self.http2}{path}"

    def https_url(self, path: str = "/plain") -> str:
        """Give a URL of HTTP over TLS."""
        return f"https://127.0.0.1:{self.https}{path}"


def nginx_version() -> str:
    """Ask nginx for its version."""
    asked = subprocess.run([_program("nginx"), "-v"], capture_output=True, text=True, check=False)
    return asked.stderr.strip().rpartition("/")[2]


@contextmanager
def nginx(
    place: Place, *, cpus: Sequence[int] | None = None, sendfile: bool = True, log: Path | None = None
) -> Iterator[Serving]:
    """Serve with nginx: one process, no log, the small answer from its configuration, the large one from an open file.

    Parameters
    ----------
    place : Place
        Where.
    cpus : sequence of int, optional
        Default: the server's.
    sendfile : bool
        Whether the kernel copies the file, or nginx through buffers: which is faster depends on the machine.
    log : Path, optional
        Where to write a line for each request: ``r`` where its TLS session was resumed. Default: no log.

    Raises
    ------
    NothingMeasured
        If it is missing or does not start.
    """
    program = _program("nginx")
    folder = place.scratch / ("nginx" if sendfile else "nginx-buffers")
    (folder / "www" / "bytes").mkdir(parents=True, exist_ok=True)
    (folder / "www" / "bytes" / str(_BYTES)).write_bytes(b"x" * _BYTES)
    _certificate(folder)
    ports = [free_port() for _ in range(3)]
    configuration = folder / "nginx.conf"
    text = _NGINX.format(
        folder=folder,
        http=ports[0],
        http2=ports[1],
        https=ports[2],
        sendfile="on" if sendfile else "off",
        log=f"{log} resumed" if log else "off",
        descriptors=_DESCRIPTORS,
        connections=_CONNECTIONS,
    )
    configuration.write_text(text)
    argv: list[str | Path] = [program, "-p", folder, "-c", configuration]
    with Server(argv, cpus=cpus or place.server_cpus, scratch=folder) as server:
        wait_for_port(ports[0])
        yield Serving(server, *ports)


@contextmanager
def origin(place: Place, *, cpus: Sequence[int] | None = None) -> Iterator[Serving]:
    """Serve with the origin: a web without faults and delays, whose certificates have keys as nginx's has.

    Raises
    ------
    NothingMeasured
        If it does not start.
    """
    folder = place.scratch / "origin"
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "web.toml"
    model.write_text("name = 'plain'\nseed = 1\n[tls]\necdsa = 1.0\n")
    http, https = free_port(), free_port()
    numbers = ",".join(str(cpu) for cpu in cpus or place.server_cpus)
    argv: list[str | Path] = [place.engine, "origin", "--web", model, "--listen", f"127.0.0.1:{http}"]
    argv += ["--control", "off", "--tls-port", str(https), "--cpus", numbers, "--report", folder / "report.json"]
    with Server(argv, cpus=cpus or place.server_cpus, scratch=folder) as server:
        wait_for_port(http)
        yield Serving(server, http, http, https)


def _program(name: str) -> str:
    """Find a program, also where only the administrator looks."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")
    if found is None:
        raise NothingMeasured(f"{name} is missing; install it with: apt-get install nginx-light")
    return found


def _certificate(folder: Path) -> None:
    """Make a certificate with a P-256 key: the kind that the origin uses."""
    if (folder / "key.pem").exists():
        return
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl += ["-days", "30", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(
            [*openssl, "-keyout", folder / "key.pem", "-out", folder / "leaf.pem"], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise NothingMeasured(f"openssl cannot make a certificate: {error}") from error
