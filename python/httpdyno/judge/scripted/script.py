"""Compile case files to the script that the engine plays: JSON with hosts, connections and steps."""

import base64
import json
from collections.abc import Sequence
from typing import Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.judge.scripted.case_file import (
    CaseFile,
    Connection,
    DnsAnswer,
    Expect,
    Frame,
    Host,
    Send,
    SendCoded,
    SendHex,
    Tls,
    Wait,
)
from httpdyno.judge.scripted.codings import code
from httpdyno.judge.scripted.http2_frames import (
    FLAGS,
    TYPES,
    encode_fields,
    encode_settings,
    error_code,
    number_of,
)

_FLOOD_BYTES: Final = 64 * 1024
_OF_CONNECTION: Final = frozenset({"SETTINGS", "PING", "GOAWAY", "WINDOW_UPDATE"})
"""Frames that belong to stream 0 unless the step says otherwise; numbers do so too."""

Json = dict[str, Any]


def compile_script(cases: Sequence[CaseFile]) -> str:
    """Return the script of some cases as JSON, every host of each.

    Raises
    ------
    InvalidValue
        If a step cannot be compiled; the message names case, host, connection and step.
    """
    return json.dumps({"hosts": [host for case in cases for host in compile_hosts(case)]})


def compile_hosts(case: CaseFile) -> list[Json]:
    """Return the hosts of a case in the form of the engine."""
    return [_host(case, host, name) for host, name in zip(case.host, case.hosts.values(), strict=True)]


def _host(case: CaseFile, host: Host, name: str) -> Json:
    connections = []
    for number, connection in enumerate(host.connection, 1):
        steps: list[Json] = []
        for place, step in enumerate(connection.steps, 1):
            try:
                steps.append(_step(case, step))
            except ValueError as error:
                where = f"host {host.name}, connection {number}, step {place}"
                raise InvalidValue(f"cases/{case.id}.toml: {where}: {error}") from error
        if _lacks_settings(connection):
            steps.insert(0, _frame(case, Frame.model_validate({"frame": "SETTINGS"})))
        connections.append({"automatic": connection.automatic, "repeat": connection.repeat, "steps": steps})
    played: Json = {"name": name, "connections": connections}
    if case.names_address and host is case.host[0]:
        played["number"] = case.number
    if host.accept:
        played["accept"] = host.accept
    if host.dns is not None:
        played["dns"] = {kind: [_answer(case, answer) for answer in answers] for kind, answers in host.dns.items()}
    if host.tls is not None:
        played["tls"] = _tls(case, host.tls)
    return played


def _lacks_settings(connection: Connection) -> bool:
    """Return whether the SETTINGS with which a connection over HTTP/2 begins has to be added."""
    frames = [step for step in connection.steps if isinstance(step, Frame)]
    if not frames or not connection.automatic:
        return False
    first = connection.steps[0]
    return not (isinstance(first, Frame) and first.frame in {"SETTINGS", TYPES["SETTINGS"]})


def _answer(case: CaseFile, answer: DnsAnswer) -> Json:
    values = answer.model_dump(exclude_none=True)
    if "cname" in values:
        names = values["cname"]
        values["cname"] = case.fill(names) if isinstance(names, str) else [case.fill(name) for name in names]
    return values


def _tls(case: CaseFile, tls: Tls) -> Json:
    values = tls.model_dump(exclude_none=True)
    certificate = values.get("certificate", {})
    for key in ("names", "dns_names"):
        if key in certificate:
            certificate[key] = [case.fill(name) for name in certificate[key]]
    if "common_name" in certificate:
        certificate["common_name"] = case.fill(certificate["common_name"])
    return values


def _step(case: CaseFile, step: object) -> Json:
    """Return one step in the form of the engine."""
    match step:
        case str():
            return {"do": step}
        case Expect():
            values = step.model_dump(exclude_none=True)
            return {"do": "expect", "what": values.pop("expect"), **values}
        case Wait():
            return {"do": "wait", "ms": step.wait_ms}
        case Send():
            return _send(case.fill(step.send).encode("latin-1"), step)
        case SendHex():
            return _send(bytes.fromhex(step.send_hex), step)
        case SendCoded():
            content = bytes(step.zeros) if step.zeros else case.fill(step.send_coded).encode("latin-1")
            codings = [step.coding] if isinstance(step.coding, str) else step.coding
            coded = (code(content, codings) * (step.times or 1))[: step.cut]
            sent = case.fill(step.head, length=str(len(coded))).encode("latin-1") + coded
            return _send(sent, step.model_copy(update={"times": None}))
        case Frame():
            return _frame(case, step)
    raise ValueError(f"{step!r} is no step")


def _send(sent: bytes, step: Send | SendHex | SendCoded) -> Json:
    if step.forever and not (step.piece or step.every_ms):
        # A flood in small writes takes longer to fill the memory of a client than its timeout.
        sent *= -(-_FLOOD_BYTES // max(len(sent), 1))
    played: Json = {"do": "send", "base64": base64.b64encode(sent).decode()}
    for name in ("piece", "every_ms", "times"):
        if (value := getattr(step, name)) is not None:
            played[name] = value
    return played | ({"forever": True} if step.forever else {})


def _frame(case: CaseFile, step: Frame) -> Json:
    kind = number_of(step.frame, TYPES, "frame")
    flags = 0
    for flag in step.flags:
        flags |= number_of(flag, FLAGS, "flag")
    # A frame with an unknown type belongs to the connection.
    is_own = step.frame in _OF_CONNECTION or isinstance(step.frame, int)
    played: Json = {"do": "frame", "type": kind, "flags": flags, "stream": 0 if is_own else "last"}
    if step.stream is not None:
        played["stream"] = step.stream
    played["payload"] = base64.b64encode(frame_payload(case, step)).decode()
    more = step.model_dump(include={"length", "times", "every_ms", "within_window"}, exclude_none=True)
    return played | more


def frame_payload(case: CaseFile, step: Frame) -> bytes:
    """Return the payload of a frame: the parts that the step names, in the order of RFC 9113."""
    payload = b""
    if step.promised is not None:
        payload += step.promised.to_bytes(4, "big")
    if step.last_stream is not None or step.frame == "GOAWAY":
        payload += (step.last_stream or 0).to_bytes(4, "big")
    if step.error is not None or step.frame in {"GOAWAY", "RST_STREAM"}:
        payload += error_code(step.error or 0)
    if step.increment is not None:
        payload += step.increment.to_bytes(4, "big")
    if step.settings is not None:
        payload += encode_settings(step.settings)
    if step.fields is not None:
        fields = [(case.fill(name), case.fill(value)) for name, value in step.fields]
        payload += encode_fields(fields * (step.fields_times or 1))
    if step.payload_hex is not None:
        payload += bytes.fromhex(step.payload_hex)
    if step.text is not None:
        payload += case.fill(step.text).encode("latin-1") * step.text_times
    return payload
