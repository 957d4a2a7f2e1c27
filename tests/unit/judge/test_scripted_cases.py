"""Case files: their form, their scripts, and the outcomes of what a client and the origin showed."""

import base64
import gzip
import json
import shutil
import subprocess
import tomllib
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hpack import Decoder
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import EngineFailed, InvalidValue, UnknownName
from httpdyno.judge import trial_not_run
from httpdyno.judge.conformance import Attempt, Observation, combine_tries, judge_cases
from httpdyno.judge.scripted.case_file import CaseFile, choose_cases, read_case, read_cases
from httpdyno.judge.scripted.codings import code
from httpdyno.judge.scripted.http2_frames import (
    FLAGS,
    PREFACE,
    encode_fields,
    encode_settings,
    read_frames,
    show_requests,
)
from httpdyno.judge.scripted.outcomes import Row, Seen, decide, is_code, read_rows, rows_of
from httpdyno.judge.scripted.script import compile_hosts, compile_script
from httpdyno.judge.scripted.stimuli import lacks_rows, missing_capability, plan_processes, process_of
from httpdyno.judge.scripted.summary import (
    describe_result,
    describe_unsupported,
    not_passed,
    passing_known_failures,
    propose_known_failures,
    read_expected,
    renew_expected,
    summarise,
    suspects_adapter,
    worse_cells,
)
from httpdyno.judge.scripted.transcript import escape, read_transcript
from httpdyno.model import (
    Breach,
    Capabilities,
    CaseOutcome,
    CaseResult,
    Condition,
    KnownFailure,
    Level,
    Outcome,
    Subject,
    SubjectKind,
    TrialPlan,
    Workload,
)

PASS, LENIENT, FAIL = CaseOutcome.PASS, CaseOutcome.LENIENT, CaseOutcome.FAIL
HANG, CRASH, UNSUPPORTED = CaseOutcome.HANG, CaseOutcome.CRASH, CaseOutcome.UNSUPPORTED
SUBJECT = Subject(
    *("a-client", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",)),
    capabilities=Capabilities(http=("1.1",), keepalive=(True,)),
)
TEXT = """
title = "a field value folded over two lines"
clause = "RFC 9112, section 5.2"
level = "must"
why = "The fold is replaced by spaces, or the message is refused."
urls = ["http://{host}/"]
[[host]]
[[host.connection]]
steps = [
  { expect = "request" },
  { send = "HTTP/1.1 200 OK\\r\\nX-Long: a\\r\\n b\\r\\nContent-Length: 5\\r\\n\\r\\nhello" },
  "close",
]
[[outcome]]
is = "pass"
code = ["200", "error"]
requests = 1
[[outcome]]
is = "lenient"
length = [4, 6]
"""


def case(*changes: tuple[str, str], name: str = "framing/folded-field") -> CaseFile:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return read_case(name, text)


def steps_of(*steps: str, more: str = "") -> list[dict[str, Any]]:
    read = case((TEXT[TEXT.index("steps") : TEXT.index("[[outcome]]")], f"{more}\nsteps = [{', '.join(steps)}]\n"))
    found: list[dict[str, Any]] = compile_hosts(read)[0]["connections"][0]["steps"]
    return found


def sent(step: dict[str, Any]) -> bytes:
    return base64.b64decode(step["base64" if step["do"] == "send" else "payload"])


def test_every_shipped_case_is_read_and_compiles() -> None:
    cases = read_cases()
    assert cases
    for one in cases.values():
        assert one.why, f"{one.id}: a case says why"
        assert json.loads(compile_script([one]))["hosts"]
        outcomes = {rule.outcome for rule in one.outcome}
        assert "pass" in outcomes, f"{one.id}: a right client passes"
        assert one.clause or one.level is Level.PRACTICE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("length =", "lenght =", ":20: outcome 2: unknown key `lenght`; allowed: code, codes, length, "),
        ('"close"', '"clos"', ":9: host 1, connection 1, steps 3: "),
        ('expect = "request"', 'expect = "requst"', "steps 1: Input should be 'request', 'head', 'bytes' or 'end'"),
        ('level = "must"', 'level = "most"', ":4: level: Input should be 'must', 'should', 'may' or 'practice'"),
        ("send =", "sent =", "steps 2: a step is a table with one of expect, send, send_hex, send_coded, wait_ms"),
        ('"RFC 9112, section 5.2"', '"common sense"', "clause: a must needs its clause, such as RFC 9112, section 5.2"),
        ("{host}", "{hots}", "unknown name {hots}; write {{ for a brace, or one of: {host}"),
        ("requests = 1", "requests = 1\n[outcome.at.other]", "outcome.at.other: there is no such host; hosts: host"),
        ("requests = 1", 'sees = ["("]', "'(' is no regular expression of bytes: "),
        ("requests = 1", "peak_mib = 5", "peak_mib needs alone = true"),
        ('/"]', '/", "http://{host}/"]', "several urls need alone = true"),
        ("title", "batch = 2\ntitle", "batch: 2 of 1 urls"),
        ("requests = 1", 'lacks_frames = ["("]', "'(' is no regular expression of bytes: "),
        ('[[outcome]]\nis = "lenient"', "[[outcome\nis = 1", "no TOML: Expected "),
        ("hello", "\u20ac", "no byte; write the bytes of its encoding as"),
        ("title", "titel", "unknown key `titel`; allowed: id, title, clause"),
    ],
)
def test_a_mistake_is_named_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        case((old, new))
    assert error.value.line.startswith("cases/framing/folded-field.toml")
    assert message in error.value.line
    assert "\n" not in error.value.line


@pytest.mark.parametrize("name", ["nowhere/x", "framing/A", "framing"])
def test_a_case_has_a_group_and_a_name(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"a case is GROUP/NAME.toml in one of the groups deadlines"):
        case(name=name)


def test_an_unknown_case_names_the_nearest_ones() -> None:
    cases = {one: case(name=one) for one in ("framing/folded-field", "framing/chunked", "fields/empty")}
    assert choose_cases(cases, []) == list(cases.values())
    assert choose_cases(cases, [], ["fields"], ["must"]) == [cases["fields/empty"]]
    with pytest.raises(UnknownName, match="CASE: 'framing/folded' does not exist; nearest: framing/folded-field"):
        choose_cases(cases, ["framing/folded"])
    with pytest.raises(UnknownName, match="--group: 'frames' does not exist; nearest: framing"):
        choose_cases(cases, [], ["frames"])


def test_a_script_has_hosts_connections_and_steps() -> None:
    (host,) = json.loads(compile_script([case()]))["hosts"]
    assert host["name"] == "folded-field.framing.test"
    (connection,) = host["connections"]
    assert (connection["automatic"], connection["repeat"]) == (True, False)
    expect, send, close = connection["steps"]
    assert (expect, close) == ({"do": "expect", "what": "request"}, {"do": "close"})
    assert sent(send).startswith(b"HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\n")


def test_other_hosts_are_named_after_the_first() -> None:
    read = case(
        ("hello", "{other} {{}"), ('[[outcome]]\nis = "pass"', '[[host]]\nname = "other"\n[[outcome]]\nis = "pass"')
    )
    first, other = compile_hosts(read)
    assert other["name"] == "other.folded-field.framing.test"
    assert sent(first["connections"][0]["steps"][1]).endswith(b"other.folded-field.framing.test {}")


@pytest.mark.parametrize(("name", "is_allowed"), [("my_host", True), ("_", True), ("l" * 63, True), ("My", False)])
def test_other_hosts_have_any_label_of_the_names_of_dns(name: str, is_allowed: bool) -> None:
    change = ('[[outcome]]\nis = "pass"', f'[[host]]\nname = "{name}"\n[[outcome]]\nis = "pass"')
    if is_allowed:
        assert compile_hosts(case(change))[1]["name"] == f"{name}.folded-field.framing.test"
        return
    with pytest.raises(InvalidValue, match="a name of its own, in a-z, 0-9, - and _, not 'My'"):
        case(change)


def test_answers_of_the_name_server_may_be_forged_or_without_tcp() -> None:
    answer = 'dns = { A = [{ forged = "id" }, { tcp = "close", truncate = true }] }'
    (host,) = compile_hosts(case(("[[host.connection]]", f"{answer}\n[[host.connection]]")))
    assert host["dns"]["A"] == [{"forged": "id"}, {"tcp": "close", "truncate": True}]
    with pytest.raises(InvalidValue, match="tcp: Input should be 'answer', 'silent' or 'close'"):
        case(("[[host.connection]]", 'dns = { A = [{ tcp = "never" }] }\n[[host.connection]]'))


def test_a_dripping_send_keeps_its_rhythm() -> None:
    (step,) = steps_of('{ send = "ab", piece = 1, every_ms = 50, forever = true }')
    assert (step["piece"], step["every_ms"], step["forever"]) == (1, 50, True)


def test_coded_content_has_its_length_in_its_head() -> None:
    (step,) = steps_of('{ send_coded = "hello", coding = ["gzip", "deflate"], head = "Length: {length}\\r\\n\\r\\n" }')
    head, _, content = sent(step).partition(b"\r\n\r\n")
    assert int(head.removeprefix(b"Length: ")) == len(content)
    assert gzip.decompress(zlib.decompress(content)) == b"hello"


def test_coded_content_is_repeated_and_cut() -> None:
    whole, cut = steps_of(
        '{ send_coded = "hello", coding = "gzip", times = 2 }',
        '{ send_coded = "hello", coding = "gzip", times = 2, cut = -4 }',
    )
    assert gzip.decompress(sent(whole)) == b"hellohello"
    assert sent(cut) == sent(whole)[:-4]
    assert "times" not in whole


@given(st.binary(max_size=300) | st.integers(0, 300_000).map(bytes))
def test_zlib_codings_are_decoded(content: bytes) -> None:
    assert gzip.decompress(code(content, ["gzip"])) == content
    assert zlib.decompress(code(content, ["deflate"])) == content
    assert zlib.decompress(code(content, ["raw_deflate"]), -15) == content


@pytest.mark.parametrize("content", [b"", b"hello", bytes(5), bytes(70_000), bytes(40 << 20), bytes(range(256)) * 600])
@pytest.mark.parametrize(
    ("coding", "program"),
    [
        ("zstd", ["zstd", "--decompress", "--stdout"]),
        (
            "br",
            [
                *("node", "--eval"),
                "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))",
            ],
        ),
    ],
)
def test_other_codings_are_decoded_by_other_programs(content: bytes, coding: str, program: list[str]) -> None:
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    coded = code(content, [coding])
    decoded = subprocess.run(program, input=coded, capture_output=True, check=True).stdout
    assert decoded == content
    assert len(coded) < 200_000, "zeros take little"


def test_a_connection_over_http2_begins_with_settings() -> None:
    frame = '{ frame = "HEADERS", flags = ["END_HEADERS"], fields = [[":status", "200"]] }'
    first, expect, headers = steps_of('{ expect = "request" }', frame)
    assert (first["type"], first["stream"], expect["do"]) == (4, 0, "expect")
    assert (headers["type"], headers["stream"], headers["flags"]) == (1, "last", FLAGS["END_HEADERS"])
    assert len(steps_of(frame, more="automatic = false")) == 1
    assert len(steps_of('{ frame = "SETTINGS", settings = { ENABLE_PUSH = 0 } }', frame)) == 2
    assert len(steps_of('{ send = "x" }')) == 1


@pytest.mark.parametrize(
    ("step", "kind", "stream", "payload"),
    [
        ('{ frame = "DATA", flags = ["END_STREAM"], text = "hello" }', 0, "last", b"hello"),
        ('{ frame = "GOAWAY", last_stream = 1, error = "NO_ERROR" }', 7, 0, bytes([0, 0, 0, 1, 0, 0, 0, 0])),
        ('{ frame = "GOAWAY" }', 7, 0, bytes(8)),
        ('{ frame = "RST_STREAM", error = "REFUSED_STREAM", stream = 3 }', 3, 3, bytes([0, 0, 0, 7])),
        ('{ frame = "PING", text = "12345678" }', 6, 0, b"12345678"),
        ('{ frame = "DATA", payload_hex = "01", text = "ab", text_times = 3 }', 0, "last", b"\1ababab"),
        ('{ frame = "WINDOW_UPDATE", increment = 0, stream = "last" }', 8, "last", bytes(4)),
        ('{ frame = "PUSH_PROMISE", promised = 2, fields = [["a", "b"]] }', 5, "last", b"\0\0\0\2\0\1a\1b"),
        ('{ frame = 16, payload_hex = "ff 00" }', 16, 0, b"\xff\0"),
        ('{ frame = "SETTINGS", settings = { MAX_CONCURRENT_STREAMS = 1 } }', 4, 0, bytes([0, 3, 0, 0, 0, 1])),
        ('{ frame = "SETTINGS", settings = { 0x99 = 1 } }', 4, 0, bytes([0, 0x99, 0, 0, 0, 1])),
    ],
)
def test_frames_have_their_payload(step: str, kind: int, stream: int | str, payload: bytes) -> None:
    frame = steps_of(step)[-1]
    assert (frame["do"], frame["type"], frame["stream"], sent(frame)) == ("frame", kind, stream, payload)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('{ frame = "HEADER" }', "unknown frame `HEADER`; known: DATA, HEADERS"),
        ('{ frame = "DATA", flags = ["END"] }', "unknown flag `END`; known: END_STREAM, ACK"),
        ('{ frame = "SETTINGS", settings = { WINDOW = 1 } }', "unknown setting `WINDOW`; known: HEADER_TABLE_SIZE"),
        ('{ frame = "RST_STREAM", error = "OOPS" }', "unknown error `OOPS`; known: NO_ERROR"),
    ],
)
def test_a_wrong_frame_is_named_with_its_step(step: str, message: str) -> None:
    with pytest.raises(InvalidValue) as error:
        steps_of('"close"', step)
    assert error.value.line.startswith("cases/framing/folded-field.toml: host host, connection 1, step 2: ")
    assert message in error.value.line


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=200)
values = st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=300)


@given(st.lists(st.tuples(names, values), max_size=8))
def test_encoded_fields_are_decoded_by_hpack(fields: list[tuple[str, str]]) -> None:
    decoder = Decoder(max_header_list_size=2**20)
    decoded = decoder.decode(encode_fields(fields), raw=True)
    assert [(bytes(one[0]).decode("latin-1"), bytes(one[1]).decode("latin-1")) for one in decoded] == fields


@given(
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary(max_size=400))),
    st.integers(0, 8),
)
def test_frames_are_read_back(frames: list[tuple[int, int, int, bytes]], rest: int) -> None:
    wire = b"".join(
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
        for kind, flags, stream, payload in frames
    )
    read = [
        (frame.type, frame.flags, frame.stream, frame.payload) for frame in read_frames(PREFACE + wire + b"\0" * rest)
    ]
    assert read == frames


@given(st.binary(max_size=500))
def test_any_bytes_of_a_client_can_be_shown(got: bytes) -> None:
    assert isinstance(show_requests(PREFACE + got), bytes)
    assert escape(got).isascii()


def test_settings_with_wide_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="names have 16 bits"):
        encode_settings({"ENABLE_PUSH": 2**32})


def transcript(*lines: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def connected(
    got: bytes = b"GET / HTTP/1.1\r\n\r\n", host: str = "folded-field.framing.test", **more: Any
) -> dict[str, Any]:
    return {
        **{"host": host, "connection": 1, "scheme": "http", "at_us": 10, "handshake": "none", "requests": 1},
        "events": [
            {"at_us": 20, "got": base64.b64encode(got).decode()},
            {"at_us": 30, "sent": 5, "step": 2},
            {"at_us": 40, "end": "peer_closed"},
        ],
        **more,
    }


QUERIED = {"host": "folded-field.framing.test", "query": "folded-field.framing.test", "type": "A", "transport": "udp"}


def seen_of(code: str = "200", length: int = 5, *, duration_s: float = 0.1, lines: str = "") -> Seen:
    row = Row("http://folded-field.framing.test/", code, duration_s, length)
    text = lines or transcript({**QUERIED, "at_us": 1}, connected())
    return Seen([row], read_transcript(text), 50.0)


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ('code = "200"', True),
        ('code = "2xx"', True),
        ('code = "error"', False),
        ('code = ["error", "200"]', True),
        ('codes = ["200"]', True),
        ('codes = [["204", "error"]]', False),
        ("length = 5", True),
        ("length = [4, 6]", False),
        ("within_s = 0.2", True),
        ("within_s = 0.05", False),
        ("at_least_s = 0.2", False),
        ("requests = 1", True),
        ("requests = { min = 2 }", False),
        ("connections = { max = 1 }", True),
        ("connections = 0", False),
        ("queries = { min = 1, max = 1 }", True),
        ("queries = 2", False),
        ('sees = ["^GET / HTTP/1.1\\r\\n"]', True),
        ('sees = ["^POST"]', False),
        ('lacks = ["(?i)authorization:"]', True),
        ('lacks = ["GET"]', False),
        ('handshake = "none"', True),
        ('handshake = ["alert", "refused"]', False),
        ('ends = "peer_closed"', True),
        ('ends = "peer_reset"', False),
    ],
)
def test_a_condition_holds_or_not(conditions: str, holds: bool) -> None:
    read = case((TEXT[TEXT.index("[[outcome]]") :], f'[[outcome]]\nis = "pass"\n{conditions}\n'))
    decision = decide(read, seen_of())
    assert decision.outcome is (PASS if holds else FAIL)
    assert decision.reason.startswith("outcome 1: pass" if holds else "no outcome holds; the first: ")


@pytest.mark.parametrize(
    ("wanted", "found", "holds"),
    [
        ("alert:unknown_ca", "alert:unknown_ca", True),
        ("alert", "alert:unknown_ca", True),
        ("refused", "closed", True),
        ("refused", "ok", False),
        ("ok", "ok", True),
    ],
)
def test_a_handshake_is_compared(wanted: str, found: str, holds: bool) -> None:
    read = case((TEXT[TEXT.index("[[outcome]]") :], f'[[outcome]]\nis = "pass"\nhandshake = "{wanted}"\n'))
    seen = seen_of(lines=transcript(connected(handshake=found, connection=0)))
    assert (decide(read, seen).outcome is PASS) is holds


@pytest.mark.parametrize(
    ("wanted", "asked", "holds"),
    [
        ("{host}", ["folded-field.framing.test"], True),
        ("{host}", ["folded-field.framing.test", None], False),
        ("{host}", [], False),
        ("", [None], True),
        ("", ["folded-field.framing.test"], False),
        ("", [], False),
    ],
)
def test_every_handshake_asks_for_the_wanted_name(wanted: str, asked: list[str | None], holds: bool) -> None:
    read = case((TEXT[TEXT.index("[[outcome]]") :], f'[[outcome]]\nis = "pass"\nserver_name = "{wanted}"\n'))
    handshakes = [connected(handshake="ok", server_name=name) for name in asked]
    seen = seen_of(lines=transcript(connected(), *handshakes))
    assert (decide(read, seen).outcome is PASS) is holds


def test_an_address_in_a_url_is_that_of_the_host() -> None:
    assert "number" not in compile_hosts(case())[0]
    read = case(("http://{host}/", "http://{address}/"), ("requests = 1", 'lacks = ["{address}"]'))
    assert read.full_urls == (f"http://{read.address}/",)
    (host,) = compile_hosts(read)
    assert 60_001 <= host["number"] <= 65_535
    assert read.address == f"10.70.{host['number'] // 256}.{host['number'] % 256}"
    lines = transcript(connected(b"Host: " + read.address.encode()))
    seen = Seen([Row(read.full_urls[0], "200", 0.1, 5)], read_transcript(lines))
    assert "the origin saw" in decide(read, seen).reason


def test_no_two_cases_have_one_address() -> None:
    addresses = [one.address for one in read_cases().values() if one.names_address]
    assert len(addresses) == len(set(addresses)) > 1


def test_a_certificate_has_the_names_of_the_case() -> None:
    names = 'names = ["{host}"], dns_names = ["{address}"], common_name = "{host}"'
    read = case(("[[host]]\n", f"[[host]]\ntls = {{ certificate = {{ {names} }} }}\n"))
    assert compile_hosts(read)[0]["tls"]["certificate"] == {
        "names": ["folded-field.framing.test"],
        "dns_names": [read.address],
        "common_name": "folded-field.framing.test",
    }
    assert steps_of('"key_update"', '"close"') == [{"do": "key_update"}, {"do": "close"}]


def test_the_first_outcome_whose_conditions_hold_decides() -> None:
    assert decide(case(), seen_of("200", 4)).outcome is PASS
    assert decide(case(), seen_of("204", 4)).outcome is LENIENT
    assert decide(case(), seen_of("204", 0)).outcome is FAIL


def test_conditions_of_one_host_see_only_that_host() -> None:
    other = "\n[outcome.at.other]\nrequests = 0\n"
    read = case(
        ("requests = 1\n", f"requests = 1\n{other}"),
        ('[[outcome]]\nis = "pass"', '[[host]]\nname = "other"\n[[outcome]]\nis = "pass"'),
    )
    assert decide(read, seen_of()).outcome is PASS
    moved = transcript(connected(host="other.folded-field.framing.test"))
    assert decide(read, seen_of(lines=moved)).outcome is FAIL


def test_requests_over_http2_are_seen_as_lines() -> None:
    block = encode_fields([(":method", "GET"), (":path", "/"), ("cookie", "a=b")])
    wire = PREFACE + len(block).to_bytes(3, "big") + bytes([1, 5]) + (1).to_bytes(4, "big") + block
    read = case(
        (TEXT[TEXT.index("[[outcome]]") :], '[[outcome]]\nis = "pass"\nsees = ["^:method: GET\\r\\n:path: /\\r\\n"]\n')
    )
    assert decide(read, seen_of(lines=transcript(connected(wire)))).outcome is PASS


def frame_bytes(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ((4, 0, 0, bytes([0, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1])), "SETTINGS on 0: ENABLE_PUSH=0, 0x9=1"),
        ((4, 1, 0, b""), "SETTINGS ACK on 0"),
        ((1, 0x25, 1, b"abcdefg"), "HEADERS END_STREAM END_HEADERS on 1: 7 bytes"),
        ((0, 0x9, 1, b"\0ab"), "DATA END_STREAM on 1: 3 bytes"),
        ((9, 4, 1, b"a"), "CONTINUATION END_HEADERS on 1: 1 bytes"),
        ((3, 0, 3, bytes([0, 0, 0, 8])), "RST_STREAM on 3: CANCEL"),
        ((7, 0, 0, bytes([0, 0, 0, 1, 0, 0, 0, 99])), "GOAWAY on 0: 0x63"),
        ((8, 0, 0, bytes([0, 0, 1, 0])), "WINDOW_UPDATE on 0: 256"),
        ((6, 1, 0, b"abcdefgh"), "PING ACK on 0: 6162636465666768"),
        ((0xBB, 1, 0, b"ab"), "187 on 0: 2 bytes"),
    ],
)
def test_a_frame_of_a_client_is_a_line(frame: tuple[int, int, int, bytes], text: str) -> None:
    (read,) = read_frames(PREFACE + frame_bytes(*frame))
    assert str(read) == text


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        ('frames = "\\\\APREFACE\\nSETTINGS on 0\\n"', True),
        ('frames = "^sent by step 2\\nDATA END_STREAM on 1: 5 bytes\\nend: peer_closed$"', True),
        ('frames = ["^SETTINGS", "^PING"]', False),
        ('lacks_frames = "^GOAWAY"', True),
        ('lacks_frames = ["^GOAWAY", "^DATA.*^sent"]', True),
        ('lacks_frames = "^DATA"', False),
    ],
)
def test_frames_are_in_the_order_in_which_they_ended(conditions: str, holds: bool) -> None:
    settings, data = frame_bytes(4, 0, 0, b""), frame_bytes(0, 1, 1, b"hello")
    events = [
        {"at_us": 10, "got": base64.b64encode(PREFACE + settings + data[:11]).decode()},
        {"at_us": 20, "sent": 5, "step": 0},
        {"at_us": 30, "sent": 5, "step": 2},
        {"at_us": 40, "got": base64.b64encode(data[11:]).decode()},
        {"at_us": 50, "end": "peer_closed"},
    ]
    lines = transcript(connected(events=events), connected(b"GET / HTTP/1.1\r\n\r\n"))
    read = case((TEXT[TEXT.index("[[outcome]]") :], f'[[outcome]]\nis = "pass"\n{conditions}\n'))
    assert (decide(read, seen_of(lines=lines)).outcome is PASS) is holds


def test_urls_come_one_after_another_or_in_batches() -> None:
    several = f"urls = {[f'http://{{host}}/{number}' for number in range(20)]}\nalone = true"
    for more, batch, concurrency in (("", 1, 10), ("\nbatch = 12", 12, 12), ("\nbatch = 20", None, 20)):
        read = case(('urls = ["http://{host}/"]', several + more))
        (attempt,) = process_of(SUBJECT, [read]).stimulus.attempts
        assert (attempt.batch, attempt.concurrency) == (batch, concurrency)
    assert process_of(SUBJECT, [case()]).stimulus.attempts[0].batch is None


@pytest.mark.parametrize(
    ("wanted", "code", "holds"),
    [("200", "200", True), ("error", "ECONNRESET", True), ("error", "200", False), ("4xx", "404", True)],
)
def test_a_code_is_a_status_a_class_or_an_error(wanted: str, code: str, holds: bool) -> None:
    assert is_code(wanted, Row("", code, None, None)) is holds


def test_a_url_that_comes_twice_has_two_rows() -> None:
    read = case(('["http://{host}/"]', '["http://{host}/", "http://{host}/"]\nalone = true'))
    url = read.full_urls[0]
    rows = read_rows(f"{url},200,t,1.5,5\n{url},Oops,t,2,0\nnoise\nother,200,t,1,1\n")
    first, second = rows_of(read, rows)
    assert (first and first.code, second and second.code) == ("200", "Oops")
    assert rows_of(read, rows[:1])[1] is None


def observed(read: CaseFile, outcome: Outcome, output: str, exit_code: int | None = 0) -> Observation:
    attempt = process_of(SUBJECT, [read]).stimulus.attempts[0]
    plan = TrialPlan(0, 0, 0, SUBJECT, Condition("conformance", "plain", Workload(())))
    lines = transcript(connected())
    return Observation(
        attempt, trial_not_run(plan, outcome, "it did"), output, transcript=lines, exit_code=exit_code, stderr="no such"
    )


ROW = "http://folded-field.framing.test/,{},2026-01-01T00:00:00Z,1.0,5\n"


@pytest.mark.parametrize(
    ("ended", "output", "exit_code", "outcome"),
    [
        (Outcome.OK, ROW.format(200), 0, PASS),
        (Outcome.OK, ROW.format(404), 0, FAIL),
        (Outcome.MISSING, "", 0, FAIL),
        (Outcome.HUNG, "", None, HANG),
        (Outcome.HUNG, ROW.format(200), None, PASS),
        (Outcome.CRASHED, "", 1, CRASH),
        (Outcome.CRASHED, ROW.format(200), None, CRASH),
        (Outcome.CRASHED, "", 127, UNSUPPORTED),
    ],
)
def test_the_end_of_a_process_is_judged(
    ended: Outcome, output: str, exit_code: int | None, outcome: CaseOutcome
) -> None:
    read = case()
    (result,) = judge_cases(SUBJECT, process_of(SUBJECT, [read]).cases, observed(read, ended, output, exit_code))
    assert (result.case, result.outcome) == ("framing/folded-field", outcome)
    assert (result.transcript is None) is (outcome is PASS)
    assert lacks_rows(read, observed(read, ended, output)) is not output.startswith("http")


def test_cases_with_one_environment_share_a_process() -> None:
    files = [
        case(name="framing/a"),
        case(name="framing/b"),
        case(('/"]', '/"]\nalone = true'), name="framing/c"),
        case(('/"]', '/"]\ntimeout_s = 4'), name="framing/d"),
    ]
    processes = plan_processes(SUBJECT, files)
    assert [[one.id for one in process.files] for process in processes] == [
        ["framing/a", "framing/b"],
        ["framing/c"],
        ["framing/d"],
    ]
    attempt: Attempt = processes[0].stimulus.attempts[0]
    assert list(attempt.lines) == ["http://a.framing.test/", "http://b.framing.test/"]
    assert len(json.loads(attempt.script)["hosts"]) == 2
    assert (attempt.concurrency, attempt.workload.timeout_s, attempt.batch) == (10, 2.0, None)


def test_a_browser_gets_its_own_concurrency_and_time_to_start() -> None:
    browser = replace(SUBJECT, concurrency=4, request_ms=100.0)
    (slow,) = process_of(browser, [case()]).stimulus.attempts
    (usual,) = process_of(replace(SUBJECT, concurrency=4), [case()]).stimulus.attempts
    assert (slow.concurrency, usual.concurrency) == (4, 10)
    assert slow.deadline_s is not None
    assert usual.deadline_s is not None
    assert slow.deadline_s - usual.deadline_s == 50


def test_several_urls_are_given_one_after_another() -> None:
    read = case(('["http://{host}/"]', '["http://{host}/1", "http://{host}/2"]\nalone = true'))
    assert process_of(SUBJECT, [read]).stimulus.attempts[0].batch == 1


@pytest.mark.parametrize(
    ("needs", "missing"),
    [
        ('{ http = "2" }', "HTTP/2"),
        ('{ http = "1.1" }', ""),
        ("{ keepalive = false }", "a connection for each request"),
        ('{ method = "POST" }', "the method POST"),
    ],
)
def test_a_case_may_need_a_capability(needs: str, missing: str) -> None:
    read = case(('/"]', f'/"]\nneeds = {needs}'))
    assert missing_capability(SUBJECT, read) == missing


def result(name: str, outcome: CaseOutcome) -> CaseResult:
    return CaseResult(name, "title", "RFC 1", Level.MUST, outcome)


def test_different_outcomes_of_tries_are_unsteady() -> None:
    same = combine_tries([result("framing/a", PASS)] * 3)
    assert (same.outcome, same.tries, same.attempts) == (PASS, ("pass",) * 3, 3)
    unsteady = combine_tries([result("framing/a", PASS), result("framing/a", HANG), result("framing/a", PASS)])
    assert unsteady.outcome is CaseOutcome.UNSTEADY
    assert unsteady.breaches[0].seen == "different outcomes: pass, hang, pass"
    assert not unsteady.is_right


RESULTS = [
    result("framing/a", PASS),
    result("framing/b", LENIENT),
    result("framing/c", CaseOutcome.UNSAFE),
    result("deadlines/a", PASS),
]


def test_a_summary_counts_by_group() -> None:
    assert summarise(RESULTS) == "deadlines 1/1, framing 1/3 (1 unsafe, 1 lenient)"
    assert [one.outcome for one in not_passed(RESULTS)] == [CaseOutcome.UNSAFE, LENIENT]
    assert "framing/c" in describe_result(RESULTS[2])
    assert not suspects_adapter(RESULTS)
    skipped = [
        replace(result(f"http2/{name}", UNSUPPORTED), breaches=(Breach("not claimed: HTTP/2", ""),)) for name in "ab"
    ]
    assert describe_unsupported([*RESULTS, *skipped]) == ["not claimed: HTTP/2: http2/a, http2/b"]
    assert suspects_adapter([result("framing/a", FAIL), result("framing/b", HANG)])


def test_a_cell_that_got_worse_is_named() -> None:
    known = [one.case for one in RESULTS]
    gone = {"other": {"framing/a": "fail"}, "a-client": {"framing/gone": "pass"}}
    expected = renew_expected(gone, "a-client", RESULTS, known)
    assert "framing/gone" not in expected["a-client"]
    assert read_expected("f.json", json.dumps(expected)) == expected
    assert list(worse_cells(expected, "a-client", RESULTS)) == []
    worse = list(worse_cells(expected, "a-client", [result("framing/b", FAIL), result("framing/new", FAIL)]))
    assert worse == ["a-client: framing/b: fail, expected lenient"]
    better = list(worse_cells(expected, "a-client", [result("framing/c", PASS)]))
    assert better == []


def test_known_failures_are_proposed_for_a_person_and_counted() -> None:
    wrong = [
        replace(result("framing/a", FAIL), code='200"\n\x1b'),
        replace(result("framing/b", HANG), known="it waits"),
        result("framing/c", LENIENT),
        result("framing/d", UNSUPPORTED),
    ]
    (table,) = tomllib.loads(propose_known_failures(wrong))["known_failure"]
    assert KnownFailure(**table) == KnownFailure("framing/a", f"{wrong[0].title}: fail, reported as 200")
    assert propose_known_failures(wrong[1:3]) == ""
    assert summarise(wrong[:2]) == "framing 0/2 (1 fail, 1 known)"
    assert describe_result(wrong[1]).endswith("; known failure: it waits")
    assert [one.case for one in not_passed(wrong[:3])] == ["framing/a", "framing/c", "framing/b"]
    subject = replace(SUBJECT, known_failures=(KnownFailure("framing/a", "old"), KnownFailure("framing/b", "it waits")))
    assert passing_known_failures(subject, [result("framing/a", PASS), wrong[1]]) == ["framing/a"]


@pytest.mark.parametrize("case", ["framing", "Framing/a", "framing/a b", "framing/", "stall_tsl"])
def test_a_known_failure_names_a_case(case: str) -> None:
    with pytest.raises(InvalidValue, match="unknown case"):
        KnownFailure(case, "it fails")


@pytest.mark.parametrize("text", ["[", "[]", '{"a": 1}', '{"a": {"framing/a": "good"}}'])
def test_a_wrong_file_of_expectations_is_named(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^f\.json: "):
        read_expected("f.json", text)


def test_a_transcript_is_shown_in_order_of_time() -> None:
    lines = read_transcript(transcript({**QUERIED, "at_us": 15}, connected())).lines()
    assert [line.split("ms  ")[1] for line in lines] == [
        "folded-field.framing.test: connection 1: http",
        "folded-field.framing.test: query folded-field.framing.test A over udp",
        "folded-field.framing.test: connection 1: got 18 bytes: GET / HTTP/1.1\\r\\n\\r\\n",
        "folded-field.framing.test: connection 1: sent 5 bytes (step 2)",
        "folded-field.framing.test: connection 1: end: peer_closed",
    ]


def test_an_unreadable_transcript_is_an_error_of_the_engine() -> None:
    with pytest.raises(EngineFailed, match="transcript cannot be read"):
        read_transcript('{"host": 1}\n')
