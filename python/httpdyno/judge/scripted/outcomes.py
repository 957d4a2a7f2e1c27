"""Judge a scripted case: the first outcome of its file whose conditions all hold decides."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.judge.scripted.case_file import ADDRESS, OUTCOMES_OF_RULES, CaseFile, Conditions
from httpdyno.judge.scripted.transcript import Transcript
from httpdyno.model import CaseOutcome

_COMMAS: Final = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A client's row for one URL."""

    url: str
    code: str
    duration_s: float | None
    length: int | None

    def __str__(self) -> str:
        """Describe the row: ``200 with 5 bytes after 0.02 s``."""
        length = "" if self.length is None or not self.is_status else f" with {self.length} bytes"
        after = "" if self.duration_s is None else f" after {self.duration_s:.2f} s"
        return f"{self.code}{length}{after}"

    @property
    def is_status(self) -> bool:
        """Whether the code is a status and no error's name."""
        return bool(re.fullmatch("[0-9]{3}", self.code))


def read_rows(output: str) -> list[Row]:
    """Read the rows that a client printed; other lines are left out."""
    rows = []
    for line in output.splitlines():
        if line.count(",") >= _COMMAS:
            url, code, _, duration, length = line.rsplit(",", _COMMAS)
            rows.append(Row(url.strip(), code.strip(), _number(duration, 1000), _whole(length)))
    return rows


def _number(text: str, divisor: int) -> float | None:
    try:
        return float(text) / divisor
    except ValueError:
        return None


def _whole(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def rows_of(case: CaseFile, rows: Sequence[Row]) -> list[Row | None]:
    """Return the row of each URL of a case; a URL that comes twice has rows in the order printed."""
    left = list(rows)
    found: list[Row | None] = []
    for url in case.full_urls:
        row = next((row for row in left if row.url == url), None)
        if row:
            left.remove(row)
        found.append(row)
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What one try of a case showed."""

    rows: Sequence[Row | None]
    """Row of each URL, in their order."""
    transcript: Transcript
    """Of the hosts of this case."""
    peak_mib: float | None = None
    """Peak memory of the client's processes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Outcome of one try, and what decided."""

    outcome: CaseOutcome
    reason: str
    """Which outcome of the file decided, or why none did."""


def decide(case: CaseFile, seen: Seen) -> Decision:
    """Return the outcome of a case whose URLs all have a row.

    Without a matching outcome it is ``fail``; the reason is then the first condition of the first outcome that does not
    hold.
    """
    broken: list[str] = []
    for number, rule in enumerate(case.outcome, 1):
        found = next(unmet(case, rule, seen), None)
        for name, conditions in rule.at.items():
            if found is None and (more := next(unmet(case, conditions, seen, name), None)):
                found = f"at {name}: {more}"
        if found is None:
            return Decision(OUTCOMES_OF_RULES[rule.outcome], f"outcome {number}: {rule.outcome}")
        broken.append(found)
    return Decision(CaseOutcome.FAIL, f"no outcome holds; the first: {broken[0]}")


def unmet(case: CaseFile, conditions: Conditions, seen: Seen, host: str | None = None) -> Iterator[str]:
    """Yield each condition that does not hold, in words; ``host``: only what that host saw counts."""
    names = case.hosts
    at = seen.transcript.of(*([names[host]] if host else names.values()))
    first = seen.transcript.of(names[host or next(iter(names))])
    yield from _of_rows(conditions, seen)
    for what, bounds, count in (
        ("requests", conditions.requests, at.requests),
        ("connections", conditions.connections, len(at.speaking)),
        ("queries", conditions.queries, len(at.queries)),
    ):
        if bounds is not None and count not in bounds:
            yield f"{what}: {count}, not {bounds}"
    if conditions.peak_mib and (seen.peak_mib is None or seen.peak_mib not in conditions.peak_mib):
        known = "unknown" if seen.peak_mib is None else f"{seen.peak_mib:.0f} MiB"
        yield f"peak memory {known}, not {conditions.peak_mib} MiB"
    text = at.text if conditions.sees or conditions.lacks else b""
    for pattern in conditions.sees:
        if not _search(case, pattern, text):
            yield f"the origin did not see {pattern!r}"
    for pattern in conditions.lacks:
        if _search(case, pattern, text):
            yield f"the origin saw {pattern!r}"
    yield from _of_frames(conditions, at)
    yield from _of_handshakes(case, conditions, at)
    end = first.connections[-1].end if first.connections else None
    if conditions.ends and end not in conditions.ends:
        yield f"the last connection ended by {end or 'nothing'}, not {' or '.join(conditions.ends)}"


def _of_frames(conditions: Conditions, at: Transcript) -> Iterator[str]:
    frames = at.frames if conditions.frames or conditions.lacks_frames else ""
    for pattern in conditions.frames:
        if not re.search(pattern, frames, re.DOTALL | re.MULTILINE):
            yield f"the client sent no frames {pattern!r}"
    for pattern in conditions.lacks_frames:
        if re.search(pattern, frames, re.DOTALL | re.MULTILINE):
            yield f"the client sent frames {pattern!r}"


def _of_handshakes(case: CaseFile, conditions: Conditions, at: Transcript) -> Iterator[str]:
    last = at.connections[-1] if at.connections else None
    if conditions.handshake and not (last and any(_is_handshake(one, last.handshake) for one in conditions.handshake)):
        yield f"handshake {last.handshake if last else 'missing'}, not {' or '.join(conditions.handshake)}"
    if conditions.server_name is not None:
        wanted = case.fill(conditions.server_name)
        asked = {one.server_name or "" for one in at.connections if one.handshake != "none"}
        if asked != {wanted}:
            found = ", ".join(sorted(name or "no name" for name in asked)) or "no handshake"
            yield f"the client asked TLS for {found}, not {wanted or 'no name'}"


def _of_rows(conditions: Conditions, seen: Seen) -> Iterator[str]:
    last = seen.rows[-1] if seen.rows else None
    wanted = [conditions.code] if conditions.code else []
    rows = [last] if conditions.code else []
    if conditions.codes:
        wanted += conditions.codes
        rows += seen.rows
    for row, codes in zip(rows, wanted, strict=True):
        if row is None or not any(is_code(code, row) for code in codes):
            yield f"code {row.code if row else 'missing'}, not {' or '.join(codes)}"
    if conditions.length and (last is None or last.length not in conditions.length):
        yield f"length {last.length if last else 'missing'}, not {' or '.join(map(str, conditions.length))}"
    duration_s = last.duration_s if last else None
    if conditions.within_s and not (duration_s is not None and duration_s <= conditions.within_s):
        yield f"took {duration_s} s, more than {conditions.within_s} s"
    if conditions.at_least_s and not (duration_s is not None and duration_s >= conditions.at_least_s):
        yield f"took {duration_s} s, less than {conditions.at_least_s} s"


def is_code(wanted: str, row: Row) -> bool:
    """Return whether a row has a code: a status, a class such as ``2xx``, ``error``, or an error's name.

    A number that is no status, such as 2000, is no error: the client took it for one.
    """
    if wanted == "error":
        return not row.code.isdecimal()
    if wanted.endswith("xx"):
        return row.is_status and row.code[0] == wanted[0]
    return row.code == wanted


def _search(case: CaseFile, pattern: str, text: bytes) -> bool:
    for name, full in (case.hosts | {ADDRESS: case.address}).items():
        pattern = pattern.replace(f"{{{name}}}", re.escape(full))
    return re.search(pattern.encode("latin-1"), text, re.DOTALL | re.MULTILINE) is not None


def _is_handshake(wanted: str, found: str) -> bool:
    if wanted == "alert":
        return found.startswith("alert:")
    if wanted == "refused":
        return found.startswith("alert:") or found == "closed"
    return found == wanted
