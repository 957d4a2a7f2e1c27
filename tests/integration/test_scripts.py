"""`room --scripts` and `origin --scripts` with curl and Python's sockets: what hosts send, what the transcript says."""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from doubles.origin import Origin
from httpdyno.lab.engine import Engine

PATIENCE_S: Final = 300.0
REQUEST: Final[Mapping[str, object]] = {"do": "expect", "what": "request"}
CLOSE: Final[Mapping[str, object]] = {"do": "close"}
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
HEADERS, DATA, SETTINGS, GOAWAY = 1, 0, 4, 7
END_STREAM, END_HEADERS = 1, 4
STATUS_200: Final = b"\x88"
"""The field `:status: 200`, by its index in the static table of HPACK."""
CURL_CERTIFICATE: Final = 60
READS_AND_ENDS: Final = r"""
import socket, sys
with socket.create_connection((sys.argv[1], 80)) as asking:
    asking.sendall(b"GET / HTTP/1.1\r\n\r\n")
    answer = b""
    while len(answer) < 9:
        answer += asking.recv(9)
    print(answer.decode())
"""
ASKS_NAMES: Final = r"""
import re, socket, struct, sys
server = re.search(r"nameserver (\S+)", open("/etc/resolv.conf").read())[1]

def ask(name, tcp):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as asking:
        asking.settimeout(60)
        asking.connect((server, 53))
        asking.send(struct.pack(">H", len(query)) + query if tcp else query)
        answer = asking.recv(4096)
        while tcp and len(answer) < 2 + struct.unpack(">H", answer[:2])[0]:
            answer += asking.recv(4096)
    answer = answer[2:] if tcp else answer
    _, flags, _, count, _, _ = struct.unpack(">6H", answer[:12])
    print(flags & 15, flags >> 9 & 1, count, "FoLded" in answer.decode("latin-1"))

for word in sys.argv[1:]:
    transport, name = word.split(":")
    ask(name, transport == "tcp")
"""

ASKS_IN_TURN: Final = r"""
import re, socket, struct
server = re.search(r"nameserver (\S+)", open("/etc/resolv.conf").read())[1]

def query(name, number):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.settimeout(60)
    asking.connect((server, 53))
    for name in ("id.test", "question.test"):
        asking.send(query(name, 7))
        for answer in (asking.recv(4096), asking.recv(4096)):
            place = socket.inet_ntoa(answer[-4:]).split(".")[1]
            print(struct.unpack(">H", answer[:2])[0], name.split(".")[0].encode() in answer, place)

for name in ("silent.test", "close.test"):
    with socket.create_connection((server, 53)) as asking:
        for number, asked in enumerate((name, "plain.test")):
            message = query(asked, number)
            asking.sendall(struct.pack(">H", len(message)) + message)
        try:
            answer = asking.makefile("rb").read(4)
        except ConnectionResetError:
            answer = b""
        print(name, struct.unpack(">2H", answer)[1] if answer else "closed")
"""


def send(content: bytes, **more: object) -> Mapping[str, object]:
    return {"do": "send", "base64": base64.b64encode(content).decode(), **more}


def frame(kind: int, flags: int, payload: bytes = b"", stream: object = "last") -> Mapping[str, object]:
    return {
        "do": "frame",
        "type": kind,
        "flags": flags,
        "stream": stream,
        "payload": base64.b64encode(payload).decode(),
    }


def host(name: str, *steps: Mapping[str, object], **more: object) -> Mapping[str, object]:
    return {"name": name, "connections": [{"steps": list(steps)}], **more}


@dataclass(frozen=True)
class Played:
    """A command in a room, and the transcripts."""

    code: int
    out: str
    lines: list[dict[str, Any]]

    @property
    def connections(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if "connection" in line]

    @property
    def only(self) -> dict[str, Any]:
        (connection,) = self.connections
        return connection


def got(connection: dict[str, Any]) -> bytes:
    return b"".join(base64.b64decode(event["got"]) for event in connection["events"] if "got" in event)


def end(connection: dict[str, Any]) -> str:
    (found,) = (event["end"] for event in connection["events"] if "end" in event)
    return str(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    return tmp_path


def play(engine: Engine, folder: Path, hosts: Sequence[Mapping[str, object]], *argv: str) -> Played:
    """Run a command in a room with scripted hosts."""
    (folder / "scripts.json").write_text(json.dumps({"hosts": hosts}), encoding="utf-8")
    options = ["--web", "plain", "--scripts", "scripts.json", "--transcripts", "transcripts.jsonl"]
    played = subprocess.run(
        [str(engine.path), "room", *options, "--", *argv],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    written = folder / "transcripts.jsonl"
    assert written.exists(), played.stderr
    lines = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    return Played(played.returncode, played.stdout, lines)


def test_a_folded_field_comes_as_it_was_written(engine: Engine, folder: Path) -> None:
    folded = b"HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"
    hosts = [host("folded.test", REQUEST, send(folded))]
    played = play(engine, folder, hosts, "curl", "-si", "http://folded.test/a?b")
    assert (played.code, played.out.splitlines()[-1]) == (0, "hello")
    assert "X-Long: a" in played.out
    connection = played.only
    assert got(connection).startswith(b"GET /a?b HTTP/1.1\r\nHost: folded.test\r\n")
    assert (connection["handshake"], connection["requests"], connection["connection"]) == ("none", 1, 1)
    assert (end(connection), connection["truncated"]) == ("peer_closed", False)
    assert {"sent": len(folded), "step": 2}.items() <= connection["events"][1].items()
    assert {(line["host"], line["type"]) for line in played.lines if "query" in line} >= {("folded.test", "A")}


def test_other_names_belong_to_the_web(engine: Engine, folder: Path) -> None:
    hosts = [host("folded.test", REQUEST, send(ANSWER))]
    argv = ("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://example.com/plain")
    played = play(engine, folder, hosts, *argv)
    assert (played.code, played.out, played.lines) == (0, "200", [])


def test_a_drip_arrives_in_pieces_and_a_connection_is_used_again(engine: Engine, folder: Path) -> None:
    hosts = [
        {
            "name": "drip.test",
            "connections": [{"repeat": True, "steps": [REQUEST, send(ANSWER, piece=7, every_ms=1)]}],
        }
    ]
    played = play(engine, folder, hosts, "curl", "-s", "http://drip.test/1", "http://drip.test/2")
    assert (played.code, played.out) == (0, "hellohello")
    connection = played.only
    assert connection["requests"] == 2
    assert sum(event.get("sent", 0) for event in connection["events"]) == 2 * len(ANSWER)


def test_the_first_connections_have_scripts_of_their_own(engine: Engine, folder: Path) -> None:
    steps = [[REQUEST, {"do": "reset"}], [REQUEST, CLOSE], [REQUEST, send(ANSWER), CLOSE]]
    hosts: list[Mapping[str, object]] = [{"name": "turns.test", "connections": [{"steps": each} for each in steps]}]
    script = 'for turn in 1 2 3 4; do curl -s http://turns.test/$turn; echo " $?"; done'
    played = play(engine, folder, hosts, "sh", "-c", script)
    assert played.out.splitlines() == [" 56", " 52", "hello 0", "hello 0"]
    assert [line["connection"] for line in played.connections] == [1, 2, 3, 4]
    assert [end(line) for line in played.connections] == ["reset", "closed", "closed", "closed"]


def test_a_connection_without_an_end_is_in_the_transcript_of_the_room(engine: Engine, folder: Path) -> None:
    hosts = [host("stall.test", REQUEST, send(b"HTTP/1.1 "), {"do": "stall"})]
    played = play(engine, folder, hosts, sys.executable, "-c", READS_AND_ENDS, "stall.test")
    connection = played.only
    assert (played.out, connection["connection"], connection["requests"]) == ("HTTP/1.1 \n", 1, 1)
    # The room ends with its command, so it may not see the end of the connection.
    assert end(connection) in {"peer_closed", "room_ended"}


def test_a_name_server_fails_then_answers_and_cuts_an_answer_short(engine: Engine, folder: Path) -> None:
    hosts = [
        host("fails.test", dns={"A": [{"rcode": "SERVFAIL"}, {"addresses": ["own", "own"]}]}),
        host("short.test", REQUEST, send(ANSWER), CLOSE, dns={"A": [{"truncate": True}]}),
        host("folded.test", dns={"A": [{}, {"change_case": True}]}),
    ]
    words = [
        "udp:fails.test",
        "udp:fails.test",
        "udp:short.test",
        "tcp:short.test",
        "udp:FoLded.test",
        "udp:FoLded.test",
    ]
    played = play(engine, folder, hosts, sys.executable, "-c", ASKS_NAMES, *words)
    rows = [line.split() for line in played.out.splitlines()]
    assert [row[:3] for row in rows] == [
        ["2", "0", "0"],
        ["0", "0", "2"],
        ["0", "1", "0"],
        ["0", "0", "1"],
        ["0", "0", "1"],
        ["0", "0", "1"],
    ]
    assert [row[3] for row in rows[4:]] == ["True", "False"]
    queries = [(line["host"], line["query"], line["transport"]) for line in played.lines]
    assert queries[2:5] == [
        ("short.test", "short.test", "udp"),
        ("short.test", "short.test", "tcp"),
        ("folded.test", "FoLded.test", "udp"),
    ]
    played = play(engine, folder, hosts, "curl", "-s", "http://short.test/")
    assert (played.code, played.out) == (0, "hello")


def test_a_name_server_is_preceded_by_a_forger_and_ignores_tcp(engine: Engine, folder: Path) -> None:
    hosts = [
        host("id.test", dns={"A": [{"forged": "id"}]}),
        host("question.test", dns={"A": [{"forged": "question"}]}),
        host("silent.test", dns={"A": [{"tcp": "silent"}]}),
        host("close.test", dns={"A": [{"tcp": "close"}]}),
        host("plain.test"),
    ]
    played = play(engine, folder, hosts, sys.executable, "-c", ASKS_IN_TURN)
    # The forged addresses are in the block of those that refuse connections, 10.67.0.0.
    assert played.out.splitlines() == [
        "8 True 67",
        "7 True 70",
        "7 False 67",
        "7 True 70",
        "silent.test 1",
        "close.test closed",
    ]


@pytest.mark.parametrize(
    ("tls", "code", "handshakes"),
    [
        ({}, 0, ["ok"]),
        (
            {"versions": ["1.2"], "alpn": ["http/1.1"], "certificate": {"issuer": "intermediate", "key": "rsa"}},
            0,
            ["ok"],
        ),
        ({"client_certificate": "requested", "alpn": []}, 0, ["ok"]),
        (
            {"certificate": {"not_before_days": -9, "not_after_days": -1}},
            CURL_CERTIFICATE,
            ["alert:certificate_expired"],
        ),
        ({"certificate": {"names": ["another.test"]}}, CURL_CERTIFICATE, ["ok", "closed"]),
        ({"certificate": {"issuer": "self"}}, CURL_CERTIFICATE, ["alert:unknown_ca"]),
        ({"certificate": {"issuer": "unknown"}}, CURL_CERTIFICATE, ["alert:unknown_ca"]),
        ({"certificate": {"issuer": "missing_intermediate"}}, CURL_CERTIFICATE, ["alert:unknown_ca"]),
        ({"certificate": {"issuer": "expired_intermediate"}}, CURL_CERTIFICATE, ["alert:certificate_expired"]),
        ({"certificate": {"issuer": "not_a_ca"}}, CURL_CERTIFICATE, ["alert:unknown_ca", "alert:bad_certificate"]),
        (
            {"certificate": {"issuer": "constrained"}},
            CURL_CERTIFICATE,
            ["alert:unknown_ca", "alert:bad_certificate", "alert:certificate_unknown"],
        ),
        ({"certificate": {"usage": "client"}}, CURL_CERTIFICATE, ["alert:unsupported_certificate"]),
        ({"certificate": {"issuer": "two_intermediates", "extension": "unknown"}}, 0, ["ok"]),
        ({"record_bytes": 27, "tickets": 3, "certificate": {"issuer": "permitted", "staple": "good"}}, 0, ["ok"]),
        ({"certificate": {"issuer": "intermediate", "hash": "md5"}}, CURL_CERTIFICATE, ["alert:bad_certificate"]),
        ({"certificate": {"key": "rsa_1024"}}, CURL_CERTIFICATE, ["alert:bad_certificate"]),
        ({"before": {"alert": 40}}, 35, ["failed: scripted alert(40)"]),
        ({"before": "close"}, 35, ["failed: scripted close"]),
        ({"before": "reset"}, 35, ["failed: scripted reset"]),
        ({"alpn": ["http/0.9"]}, 35, ["failed: peer doesn't support any known protocol"]),
    ],
)
def test_a_handshake_goes_as_its_script_says(
    engine: Engine, folder: Path, tls: dict[str, object], code: int, handshakes: list[str]
) -> None:
    hosts = [host("tls.test", REQUEST, send(ANSWER), CLOSE, tls={"alpn": ["http/1.1"], **tls})]
    played = play(engine, folder, hosts, "curl", "-s", "https://tls.test/")
    connection = played.only
    assert (played.code, connection["handshake"] in handshakes) == (code, True), (played.code, connection)
    assert (connection["server_name"], connection["scheme"]) == ("tls.test", "https")
    if code == 0:
        assert played.out == "hello"
        assert connection["tls_version"] == ("1.2" if "versions" in tls else "1.3")
        assert connection["alpn"] == (None if tls.get("alpn") == [] else "http/1.1")


def test_a_host_with_a_number_has_its_address_and_new_keys(engine: Engine, folder: Path) -> None:
    tls = {"versions": ["1.3"], "alpn": [], "certificate": {"names": ["10.70.234.97"]}}
    steps = (REQUEST, send(ANSWER[:-2]), {"do": "key_update"}, send(ANSWER[-2:]), CLOSE)
    hosts = [host("first.test"), host("numbered.test", *steps, tls=tls, number=60_001)]
    played = play(engine, folder, hosts, "curl", "-s", "https://10.70.234.97/")
    assert (played.code, played.out) == (0, "hello")
    assert (played.only["host"], played.only["server_name"], end(played.only)) == ("numbered.test", None, "closed")


@pytest.mark.parametrize(("staple", "found"), [("revoked", "Cert Status: revoked"), (None, "no response sent")])
def test_a_response_of_ocsp_is_stapled(engine: Engine, folder: Path, staple: str | None, found: str) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    hosts = [host("stapled.test", CLOSE, tls={"certificate": {"staple": staple}})]
    argv = ("openssl", "s_client", "-status", "-servername", "stapled.test", "-connect", "stapled.test:443")
    played = play(engine, folder, hosts, "sh", "-c", f"echo | {' '.join(argv)}")
    assert found in played.out


def test_frames_of_http2_are_sent_as_they_are_written(engine: Engine, folder: Path) -> None:
    features = subprocess.run(["curl", "--version"], stdout=subprocess.PIPE, text=True, check=True)
    if "HTTP2" not in features.stdout:
        pytest.skip("this curl does not speak HTTP/2")
    steps = [
        frame(SETTINGS, 0, stream=0),
        REQUEST,
        frame(HEADERS, END_HEADERS, STATUS_200),
        frame(DATA, END_STREAM, b"hello"),
        frame(GOAWAY, 0, (1).to_bytes(4) + bytes(4), stream=0),
        CLOSE,
    ]
    hosts = [host("frames.test", *steps)]
    played = play(engine, folder, hosts, "curl", "-s", "-w", " %{http_version}", "https://frames.test/")
    assert (played.code, played.out) == (0, "hello 2")
    connection = played.only
    assert got(connection).startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert (connection["alpn"], connection["requests"], end(connection)) == ("h2", 1, "closed")
    # The acknowledgement of the client's settings is automatic.
    assert any(event.get("step") == 0 for event in connection["events"])
    unwanted = [frame(SETTINGS, 0, stream=0), REQUEST, frame(GOAWAY, 0, bytes(8), stream=0), CLOSE]
    played = play(engine, folder, [host("frames.test", *unwanted)], "curl", "-s", "https://frames.test/")
    assert played.code != 0


def test_an_origin_plays_hosts_that_are_named(engine: Engine, folder: Path) -> None:
    hosts = [
        host("plain.test", REQUEST, send(ANSWER), CLOSE),
        host("tls.test", REQUEST, send(ANSWER), CLOSE, tls={"alpn": ["http/1.1"]}),
    ]
    (folder / "scripts.json").write_text(json.dumps({"hosts": hosts}), encoding="utf-8")
    transcripts = folder / "transcripts.jsonl"
    options = ["--scripts", str(folder / "scripts.json"), "--transcripts", str(transcripts)]
    origin = Origin(engine, folder, options=options)
    try:
        urls = {"http": "http://plain.test:{}/", "https": "https://tls.test:{}/", "web": "http://localhost:{}/plain"}
        for scheme, url in urls.items():
            port = origin.ports["http" if scheme == "web" else scheme]
            argv = ["curl", "-sk", "--resolve", f"*:{port}:127.0.0.1", url.format(port)]
            answered = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
            assert (answered.stdout == "hello") == (scheme != "web")
        origin.stop()
    finally:
        origin.kill()
    lines = [json.loads(line) for line in transcripts.read_text(encoding="utf-8").splitlines()]
    assert [(line["host"], line["scheme"], line["requests"]) for line in lines] == [
        ("plain.test", "http", 1),
        ("tls.test", "https", 1),
    ]
