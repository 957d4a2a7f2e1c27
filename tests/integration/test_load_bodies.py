"""Bodies of `httpdyno load`: long files, forms and `Expect: 100-continue`, through nginx to a server."""

import email.message
import email.policy
import hashlib
import json
import shutil
import socket
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from httpdyno.lab.engine import Engine

PATIENCE_S = 300
MIB = 1 << 20
KEPT = 64 << 10
"""Bodies up to this length are kept whole."""


@dataclass
class Upload:
    """A request as the server read it."""

    headers: email.message.Message
    sha256: str
    body: bytes = field(repr=False)


class Uploads(ThreadingHTTPServer):
    """A server that hashes what it reads."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Read)
        self.read: list[Upload] = []


class _Read(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Uploads

    def do_POST(self) -> None:
        rest = int(self.headers["Content-Length"])
        digest, kept = hashlib.sha256(), b""
        while rest and (piece := self.rfile.read(min(rest, MIB))):
            digest.update(piece)
            kept += piece[: KEPT - len(kept)]
            rest -= len(piece)
        self.server.read.append(Upload(self.headers, digest.hexdigest(), kept))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    with Uploads() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def nginx(uploads: Uploads, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Start nginx in front of the server; return its addresses by protocol."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin") or shutil.which("nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx and openssl are not installed; install them with: apt-get install nginx-light openssl")
    key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "key.pem",
        "-subj",
        "/CN=a.test",
    ]
    subprocess.run(["openssl", "req", "-x509", *key, "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    plain, tls = (one.getsockname()[1] for one in sockets)
    for one in sockets:
        one.close()
    folders = "".join(f"{name}_temp_path {tmp_path};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (tmp_path / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/errors;
        events {{}}
        http {{
            access_log off; {folders}
            server {{
                listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl http2;
                ssl_certificate cert.pem; ssl_certificate_key key.pem;
                client_max_body_size 0;
                location / {{ proxy_pass http://127.0.0.1:{uploads.server_port}; proxy_request_buffering off;
                    proxy_http_version 1.1; }}
                location /small {{ client_max_body_size 1k; proxy_pass http://127.0.0.1:{uploads.server_port}; }}
            }}
        }}""")
    with subprocess.Popen([program, "-p", str(tmp_path), "-c", "nginx.conf"], stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(plain, process)
            yield {"http": f"http://127.0.0.1:{plain}", "https": f"https://127.0.0.1:{tls}"}
        finally:
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            continue
        return
    pytest.fail(f"nginx ended with {process.returncode}")


def load(engine: Engine, *words: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    """Run a load and return its report."""
    argv = [engine.path, "load", *words, "--report", "-", "--timeout", "300s", "--insecure"]
    ended = subprocess.run(argv, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    assert report["errors"] == {}
    return report


def address_of(server: Uploads) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.parametrize("scheme", ["http", "https", "https2"])
def test_a_long_file_arrives_whole(
    engine: Engine, nginx: dict[str, str], uploads: Uploads, tmp_path: Path, scheme: str
) -> None:
    file, content = tmp_path / "long", b"".join(number.to_bytes(4, "big") for number in range(5 * MIB))
    file.write_bytes(content)
    version = ["--http2", "--streams", "2"] if scheme == "https2" else []
    report = load(engine, f"{nginx[scheme[:5]]}/", "--body-file", file, "-c", "2", "-n", "4", *version)
    assert report["statuses"] == {"201": 4}
    assert [one.sha256 for one in uploads.read] == [hashlib.sha256(content).hexdigest()] * 4


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_an_answer_before_the_end_of_the_body_counts(
    engine: Engine, nginx: dict[str, str], tmp_path: Path, version: str
) -> None:
    file = tmp_path / "long"
    with file.open("wb") as opened:
        opened.truncate(64 * MIB)
    url = f"{nginx['https']}/small"
    report = load(engine, url, "--body-file", file, "-c", "2", "-n", "4", "--http-version", version)
    assert report["statuses"] == {"413": 4}


@pytest.mark.parametrize("option", [["--expect-continue"], ["--header", "expect: 100-Continue"]])
def test_a_body_waits_for_100_of_a_real_server(
    engine: Engine, nginx: dict[str, str], uploads: Uploads, option: list[str]
) -> None:
    for url, version, status in (
        (f"{nginx['http']}/", "1.1", "201"),
        (f"{nginx['http']}/small", "1.1", "413"),
        (address_of(uploads), "1.1", "201"),
    ):
        words = ["--body", "a" * 2048, "-c", "2", "-n", "4", "--http-version", version]
        report = load(engine, url, *words, *option)
        assert report["statuses"] == {status: 4}
        continued, answered = (4, 0) if status == "201" else (0, 4)
        assert report["expect_continue"] == {"continued": continued, "answered": answered, "silent": 0}


FIELDS = {
    "plain": "value",
    "empty": "",
    "signs": "a&b=c;d+e%20f \u00fc \u20ac\r\n--",
    "n&a=me": "braces }}{{{{",
}


def test_a_server_reads_the_fields_of_a_form(engine: Engine, uploads: Uploads) -> None:
    fields = [word for name, value in FIELDS.items() if "=" not in name for word in ("--form", f"{name}={value}")]
    load(engine, address_of(uploads), *fields, "--form", "user={{seq}} & {{seq}}", "-n", "1", "-c", "1")
    (one,) = uploads.read
    assert one.headers["Content-Type"] == "application/x-www-form-urlencoded"
    read = urllib.parse.parse_qsl(one.body.decode(), keep_blank_values=True, strict_parsing=True)
    expected = {name: value.replace("{{{{", "{{") for name, value in FIELDS.items() if "=" not in name}
    assert dict(read) == expected | {"user": "1 & 1"}


def test_a_server_reads_the_parts_of_a_multipart_form(engine: Engine, uploads: Uploads, tmp_path: Path) -> None:
    files = {"photo.png": b"\x89PNG\r\n\x00{{seq}}", "long.bin": b"\xff" * (MIB + 1)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    fields = [word for name, value in FIELDS.items() if "=" not in name for word in ("--multipart", f"{name}={value}")]
    load(
        engine, address_of(uploads), *fields, "--multipart", "user={{seq}}", "-n", "1", "-c", "1",
        "--multipart", f"photo=@{tmp_path / 'photo.png'}",
        "--multipart", f"again=@{tmp_path / 'photo.png'};type=image/x-a;filename=other.gif",
    )  # fmt: skip
    (one,) = uploads.read
    parts = _parts(one)
    expected = {name: value.replace("{{{{", "{{").encode() for name, value in FIELDS.items() if "=" not in name}
    expected |= {"user": b"1", "photo": files["photo.png"], "again": files["photo.png"]}
    assert {name: content for name, (content, _, _) in parts.items()} == expected
    assert parts["photo"][1:] == ("image/png", "photo.png")
    assert parts["again"][1:] == ("image/x-a", "other.gif")
    # A long file is sent from the disk; its parts before it are the same.
    load(engine, address_of(uploads), "--multipart", f"a=@{tmp_path / 'long.bin'}", "-n", "1", "-c", "1")
    long = uploads.read[-1]
    boundary = long.headers["Content-Type"].split("boundary=")[1]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="a"; filename="long.bin"\r\n'
    head += "Content-Type: application/octet-stream\r\n\r\n"
    whole = head.encode() + files["long.bin"] + f"\r\n--{boundary}--\r\n".encode()
    assert long.sha256 == hashlib.sha256(whole).hexdigest()


def _parts(one: Upload) -> dict[str, tuple[bytes, str, str | None]]:
    """Parse a multipart body as Python's email does."""
    head = f"Content-Type: {one.headers['Content-Type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + one.body, policy=email.policy.HTTP)
    assert not message.defects
    parts = {}
    for part in message.iter_parts():
        assert isinstance(part, email.message.EmailMessage)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        parts[str(name)] = (content, part.get_content_type(), part.get_filename())
    return parts


def test_memory_does_not_grow_with_the_file(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "sparse"
    with file.open("wb") as opened:
        opened.truncate(2048 * MIB)
    received = 0
    listener = socket.create_server(("127.0.0.1", 0))

    def read() -> None:
        nonlocal received
        stream, _ = listener.accept()
        with stream:
            head = stream.recv(4096).split(b"\r\n\r\n", 1)
            received = len(head[1]) if len(head) > 1 else 0
            buffer = bytearray(4 * MIB)
            while received < 2048 * MIB and (count := stream.recv_into(buffer)):
                received += count
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=read)
    thread.start()
    report = load(engine, f"http://127.0.0.1:{listener.getsockname()[1]}/", "--body-file", file, "-n", "1", "-c", "1")
    thread.join()
    listener.close()
    assert received == 2048 * MIB
    assert report["statuses"] == {"200": 1}
    assert report["peak_memory_bytes"] < 60 * MIB


def test_standard_input_is_a_body(engine: Engine, uploads: Uploads) -> None:
    load(engine, address_of(uploads), "--body-file", "-", "-n", "2", "-c", "1", stdin=b"\x00text")
    assert [one.body for one in uploads.read] == [b"\x00text"] * 2


def test_a_long_text_with_placeholders_keeps_them(engine: Engine, uploads: Uploads, tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    file.write_text("{{seq}}" + " " * 2 * MIB)
    load(engine, address_of(uploads), "--body-file", file, "-n", "2", "-c", "1")
    assert [one.body[:8] for one in uploads.read] == [b"1       ", b"2       "]
