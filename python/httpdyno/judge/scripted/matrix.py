"""The matrix of a run: its clients, its cases in words, and a cell for each result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from httpdyno.judge.scripted.case_file import (
    GROUPS,
    CaseFile,
    Conditions,
    Expect,
    Frame,
    Send,
    SendCoded,
    SendHex,
    Step,
    Wait,
)
from httpdyno.model import CaseOutcome, CaseResult
from httpdyno.model.matrix import Matrix, MatrixCase, MatrixCell, MatrixClient

_TEXT: Final = 2_000
"""Most characters of a step that the page shows."""


Tested = Mapping[MatrixClient, Sequence[CaseResult]]
"""The results of the cases of each client."""


def matrix_of(date: str, httpdyno: str, tested: Tested, files: Mapping[str, CaseFile]) -> Matrix:
    """Return the matrix of clients that were tested with some cases.

    ``date`` is a day, as 2026-11-28; ``files`` are the files of all cases by id. A case without a file, of another
    version of httpdyno, has neither expectation nor script.
    """
    found = {result.case: result for results in tested.values() for result in results}
    order = {case: place for place, case in enumerate(files)}
    cases = sorted(found.values(), key=lambda result: order.get(result.case, len(order)))
    others = dict.fromkeys(result.group for result in cases if result.group not in GROUPS)
    return Matrix(
        schema=1,
        date=date,
        httpdyno=httpdyno,
        clients=tuple(tested),
        groups=(*GROUPS, *others),
        cases=tuple(_case(result, files.get(result.case)) for result in cases),
        cells=tuple(_cell(client.id, result) for client, results in tested.items() for result in results),
    )


def _case(result: CaseResult, file: CaseFile | None) -> MatrixCase:
    described = (file.why, expected_of(file), tuple(script_of(file))) if file else ("", "", ())
    return MatrixCase(result.case, result.group, result.title, result.clause, result.level, *described)


def _cell(client: str, result: CaseResult) -> MatrixCell:
    length = "" if result.length is None else f" with {result.length} bytes"
    return MatrixCell(
        client,
        result.case,
        result.outcome,
        tuple(map(CaseOutcome, result.tries or (result.outcome,))),
        result.known,
        () if result.code is None else (f"{result.code}{length}",),
        "; ".join(breach.seen for breach in result.breaches),
        tuple((result.transcript or "").splitlines()),
    )


def expected_of(file: CaseFile) -> str:
    """Describe what a right client does: ``200, 5 bytes; or: an error``."""
    passing = [rule for rule in file.outcome if rule.outcome == "pass"]
    texts = []
    for rule in passing:
        own = list(_in_words(rule))
        others = [f"at {name}: {', '.join(_in_words(conditions))}" for name, conditions in rule.at.items()]
        texts.append(", ".join((*own, *others)) or "anything")
    return "; or: ".join(texts)


def _in_words(conditions: Conditions) -> Iterator[str]:
    """Describe conditions, each in a few words."""
    yield from _rows_in_words(conditions)
    for noun, count in (
        ("requests", conditions.requests),
        ("connections", conditions.connections),
        ("DNS queries", conditions.queries),
        ("MiB of memory", conditions.peak_mib),
    ):
        if count:
            yield f"{count} {noun}"
    yield from (f"the origin sees {pattern!r}" for pattern in conditions.sees)
    yield from (f"the origin does not see {pattern!r}" for pattern in conditions.lacks)
    yield from (f"the client sends frames {pattern!r}" for pattern in conditions.frames)
    yield from (f"the client does not send frames {pattern!r}" for pattern in conditions.lacks_frames)
    if conditions.handshake:
        yield f"handshake: {' or '.join(conditions.handshake)}"
    if conditions.ends:
        yield f"the last connection ends by {' or '.join(conditions.ends)}"


def _rows_in_words(conditions: Conditions) -> Iterator[str]:
    for codes in (*([conditions.code] if conditions.code else ()), *(conditions.codes or ())):
        yield " or ".join("an error" if code == "error" else code for code in codes)
    if conditions.length:
        yield f"{' or '.join(map(str, conditions.length))} bytes"
    if conditions.within_s:
        yield f"within {conditions.within_s:g} s"
    if conditions.at_least_s:
        yield f"after at least {conditions.at_least_s:g} s"


def script_of(file: CaseFile) -> Iterator[str]:
    """Describe what the server does, a line for each setting of a host and each step of a connection."""
    for host, name in zip(file.host, file.hosts.values(), strict=True):
        yield f"{name}:"
        if host.accept:
            yield f"  accept: {host.accept}"
        for kind, answers in (host.dns or {}).items():
            settings = [_settings(answer.model_dump(exclude_none=True)) for answer in answers]
            yield f"  DNS {kind}: {'; then '.join(settings)}"
        if host.tls:
            yield f"  TLS: {_settings(host.tls.model_dump(exclude_none=True))}"
        for number, connection in enumerate(host.connection, 1):
            yield f"  connection {number}{' and later ones' if number == len(host.connection) else ''}:"
            yield from (f"    {_step(step)}" for step in connection.steps)
            if connection.repeat:
                yield "    from the first step again"


def _settings(values: dict[str, object]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in values.items()) or "as usual"


def _step(step: Step) -> str:
    """Describe one step in one line."""
    if isinstance(step, str):
        return step.replace("_", " ")
    if isinstance(step, Expect):
        number = f" ({step.count})" if step.count else ""
        late = "" if step.within_ms is None else f", for {step.within_ms} ms at most"
        return f"wait for {step.expect}{number}{late}"
    if isinstance(step, Wait):
        return f"wait {step.wait_ms} ms"
    more = step.model_dump(exclude_defaults=True)
    if isinstance(step, Send):
        sent = str(more.pop("send"))
        escaped = repr(sent[:_TEXT].encode("latin-1"))[2:-1]
        return _with(f"send {len(sent)} bytes: {escaped}", more)
    if isinstance(step, SendHex):
        return _with(f"send bytes {str(more.pop('send_hex'))[:_TEXT]}", more)
    if isinstance(step, SendCoded):
        return f"send coded content: {_settings(more)[:_TEXT]}"
    assert isinstance(step, Frame), "every other kind is above"
    return _with(f"send frame {more.pop('frame')}", more)


def _with(text: str, more: dict[str, object]) -> str:
    return f"{text} ({_settings(more)[:_TEXT]})" if more else text
