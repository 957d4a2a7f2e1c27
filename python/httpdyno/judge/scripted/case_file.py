"""Case files: their form, and messages for mistakes in them with file, line and key."""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from httpdyno.errors import InvalidValue, NotResumable, UnknownName
from httpdyno.model import CaseOutcome, Level

GROUPS: Final = (
    "deadlines",
    "connections",
    "framing",
    "codings",
    "redirects",
    "tls",
    "dns",
    "http2",
    "fields",
)
"""Groups of cases, in the order of the summary."""
FOLDER: Final = Path(__file__).parent / "cases"
FIRST_HOST: Final = "host"
"""Name of the first host of a case in its texts."""
ADDRESS: Final = "address"
"""Name of the first host's IPv4 address in its texts."""
_FIRST_NUMBER, _LAST_NUMBER = 60_001, 0xFFFF
"""Numbers of hosts that are known before their place in a script is."""
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_HOST_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
_PLACEHOLDER: Final = re.compile(r"\{(\{|[a-z0-9_-]+\})?")
_CLAUSE: Final = re.compile(r"\bRFC \d+|\b[Ss]ection\b|WHATWG|Fetch|CONTRACT|HTML")
_NEAR: Final = 3


class _Table(BaseModel):
    """A table of a case file; an unknown key is an error that lists the allowed ones."""

    model_config = ConfigDict(frozen=True, strict=False, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, values: object) -> object:
        allowed = [field.alias or name for name, field in cls.model_fields.items()]
        if isinstance(values, Mapping) and (unknown := [key for key in values if key not in allowed]):
            raise ValueError(f"unknown key `{unknown[0]}`; allowed: {', '.join(allowed)}")
        return values


class _Sending(_Table):
    """Keys of every step that sends."""

    piece: int | None = Field(None, ge=1)
    every_ms: int | None = Field(None, ge=0)
    times: int | None = Field(None, ge=1)
    forever: bool = False


class Expect(_Table):
    """Read from the client."""

    expect: Literal["request", "head", "bytes", "end"]
    count: int | None = Field(None, ge=1)
    within_ms: int | None = Field(None, ge=0)


class Send(_Sending):
    """Send a text, a character a byte."""

    send: str

    @field_validator("send")
    @classmethod
    def _is_latin_1(cls, text: str) -> str:
        if wrong := [character for character in text if ord(character) > 0xFF]:
            raise ValueError(f"{wrong[0]!r} is no byte; write the bytes of its encoding as \\u0080 to \\u00ff")
        return text


class SendHex(_Sending):
    """Send bytes."""

    send_hex: str

    @field_validator("send_hex")
    @classmethod
    def _is_hex(cls, text: str) -> str:
        bytes.fromhex(text)
        return text


Coding = Literal["gzip", "deflate", "raw_deflate", "br", "zstd"]


class SendCoded(_Sending):
    """Send coded content after its head."""

    send_coded: str = ""
    coding: Coding | list[Coding]
    head: str = ""
    """``{length}`` is the number of coded bytes that are sent."""
    zeros: int | None = Field(None, ge=1, le=2**31)
    """Content is so many zeros in place of the text."""
    cut: int | None = Field(None, lt=0)
    """Number of bytes that are cut from the end, negative."""
    times: int | None = Field(None, ge=1)
    """Number of members, one after another."""


class Wait(_Table):
    """Wait."""

    wait_ms: int = Field(ge=0)


class Frame(_Table):
    """Send a frame of HTTP/2."""

    frame: str | int
    stream: int | str | None = None
    flags: list[str | int] = []
    fields: list[tuple[str, str]] | None = None
    fields_times: int | None = Field(None, ge=1)
    text: str | None = None
    text_times: int = Field(1, ge=1, le=2**20)
    """Number of times that the text is repeated in the payload."""
    within_window: bool | None = None
    """Whether the step waits until the client's windows have room for the frame."""
    payload_hex: str | None = None
    settings: dict[str, int] | None = None
    last_stream: int | None = None
    error: str | int | None = None
    increment: int | None = None
    promised: int | None = None
    length: int | None = None
    times: int | None = Field(None, ge=1)
    every_ms: int | None = Field(None, ge=0)


Bare = Literal["stall", "close", "close_without_notify", "half_close", "reset", "key_update"]
_STEPS: Final = {
    "expect": Expect,
    "send": Send,
    "send_hex": SendHex,
    "send_coded": SendCoded,
    "wait_ms": Wait,
    "frame": Frame,
}


def _kind_of_step(step: object) -> str | None:
    if isinstance(step, str):
        return "bare"
    if isinstance(step, BaseModel):
        return next(name for name, kind in _STEPS.items() if type(step) is kind)
    return next((name for name in _STEPS if name in step), None) if isinstance(step, Mapping) else None


Step = Annotated[
    Annotated[Expect, Tag("expect")]
    | Annotated[Send, Tag("send")]
    | Annotated[SendHex, Tag("send_hex")]
    | Annotated[SendCoded, Tag("send_coded")]
    | Annotated[Wait, Tag("wait_ms")]
    | Annotated[Frame, Tag("frame")]
    | Annotated[Bare, Tag("bare")],
    Discriminator(
        _kind_of_step,
        custom_error_type="step",
        custom_error_message=f"a step is a table with one of {', '.join(_STEPS)}, or one of"
        " stall, close, close_without_notify, half_close, reset, key_update",
    ),
]


class Connection(_Table):
    """Steps of one connection."""

    steps: list[Step] = []
    repeat: bool = False
    automatic: bool = True


class DnsAnswer(_Table):
    """Answer to one query."""

    rcode: Literal["NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED", "FORMERR"] | None = None
    addresses: list[str] | None = None
    cname: str | list[str] | None = None
    ttl: int | None = Field(None, ge=0)
    after_ms: int | None = Field(None, ge=0)
    silent: bool | None = None
    truncate: bool | None = None
    change_case: bool | None = None
    tcp: Literal["answer", "silent", "close"] | None = None
    forged: Literal["id", "question"] | None = None


class Certificate(_Table):
    """Certificate of a host."""

    names: list[str] | None = None
    dns_names: list[str] | None = None
    common_name: str | None = None
    not_before_days: int | None = None
    not_after_days: int | None = None
    issuer: (
        Literal[
            "room",
            "self",
            "unknown",
            "unknown_sent",
            "intermediate",
            "missing_intermediate",
            "expired_intermediate",
            "not_a_ca",
            "no_basic_constraints",
            "cannot_sign",
            "constrained",
            "permitted",
            "excluded",
            "two_intermediates",
            "reversed_intermediates",
            "path_too_long",
        ]
        | None
    ) = None
    usage: Literal["server", "client", "any", "none"] | None = None
    key_usage: Literal["default", "certificate_sign", "none"] | None = None
    key: Literal["ecdsa", "rsa", "rsa_1024"] | None = None
    hash: Literal["sha256", "sha1", "md5"] | None = None
    extension: Literal["unknown", "unknown_critical", "must_staple"] | None = None
    staple: Literal["good", "revoked", "outdated"] | None = None
    ocsp: str | None = None


class Alert(_Table):
    """Alert in place of a handshake."""

    alert: int = Field(ge=0, le=255)


class Tls(_Table):
    """TLS of a host."""

    before: Literal["stall", "close", "reset"] | Alert | None = None
    raw: bool | None = None
    versions: list[Literal["1.2", "1.3"]] | None = None
    alpn: list[str] | None = None
    client_certificate: Literal["none", "requested", "required"] | None = None
    record_bytes: int | None = Field(None, ge=27, le=16_384)
    tickets: int | None = Field(None, ge=0, le=100)
    certificate: Certificate | None = None


class Host(_Table):
    """A host of a case."""

    name: str = FIRST_HOST
    accept: Literal["serve", "reset", "stall"] | None = None
    dns: dict[Literal["A", "AAAA"], list[DnsAnswer]] | None = None
    tls: Tls | None = None
    connection: list[Connection] = []


class Count(_Table):
    """Bounds of a number."""

    min: int | None = None
    max: int | None = None

    def __contains__(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def __str__(self) -> str:
        """Describe the bounds: ``2``, ``at least 2``, ``at most 2``, ``1 to 2``."""
        if self.min == self.max:
            return str(self.min)
        if self.min is None or self.max is None:
            return f"at most {self.max}" if self.min is None else f"at least {self.min}"
        return f"{self.min} to {self.max}"


def _as_count(value: object) -> object:
    return {"min": value, "max": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str | int) else value


_Codes = Annotated[list[Annotated[str, Field(pattern=r"^([0-9]{3,4}|[1-5]xx|[A-Za-z][A-Za-z0-9_.-]*)$")]], Field()]


class Conditions(_Table):
    """Conditions of an outcome; those that are not given hold."""

    code: _Codes | None = None
    codes: list[_Codes] | None = None
    length: list[int] | None = None
    within_s: float | None = Field(None, gt=0)
    at_least_s: float | None = Field(None, gt=0)
    requests: Count | None = None
    connections: Count | None = None
    queries: Count | None = None
    sees: list[str] = []
    lacks: list[str] = []
    frames: list[str] = []
    """Patterns that the lines of ``Transcript.frames`` have: frames of the client, steps of the origin, the end."""
    lacks_frames: list[str] = []
    handshake: list[str] | None = None
    server_name: str | None = None
    """Name that every handshake asks for; empty: none."""
    ends: list[str] | None = None
    peak_mib: Count | None = None

    _counts = field_validator("requests", "connections", "queries", "peak_mib", mode="before")(_as_count)
    _lists = field_validator(
        *("code", "length", "handshake", "ends", "sees", "lacks", "frames", "lacks_frames"), mode="before"
    )(_as_list)

    @field_validator("codes", mode="before")
    @classmethod
    def _each_a_list(cls, value: object) -> object:
        return [_as_list(one) for one in value] if isinstance(value, list) else value

    @field_validator("sees", "lacks", "frames", "lacks_frames")
    @classmethod
    def _are_patterns(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                re.compile(pattern.encode("latin-1"))
            except (re.error, UnicodeEncodeError) as error:
                raise ValueError(f"{pattern!r} is no regular expression of bytes: {error}") from error
        return patterns


class CaseOutcomeRule(Conditions):
    """An outcome, and the conditions that all have to hold for it."""

    outcome: Literal["pass", "lenient", "fail", "unsafe"] = Field(alias="is")
    at: dict[str, Conditions] = {}


class Needs(_Table):
    """Requirements of a case."""

    http: Literal["1.1", "2"] | None = None
    keepalive: bool | None = None
    method: str | None = Field(None, pattern="^[A-Z]+$")
    content: str | None = None


class CaseFile(_Table):
    """One case as written in its file."""

    id: str
    title: str = Field(min_length=1)
    clause: str = Field(min_length=1)
    level: Level
    why: str = ""
    urls: list[str] = ["https://{host}/"]
    alone: bool = False
    batch: int = Field(1, ge=1)
    """URLs that the client gets at once, with a slot for each; the next ones follow when those have rows."""
    needs: Needs = Field(default_factory=lambda: Needs.model_validate({}))
    timeout_s: float = Field(2.0, gt=0)
    host: list[Host] = Field(min_length=1)
    outcome: list[CaseOutcomeRule] = Field(min_length=1)

    @property
    def group(self) -> str:
        """Group of the case."""
        return self.id.partition("/")[0]

    @property
    def hosts(self) -> dict[str, str]:
        """The full name of each host by its name in texts; ``host`` is the first."""
        group, _, name = self.id.partition("/")
        own = f"{name}.{group}.test"
        return {
            (FIRST_HOST if place == 0 else host.name): own if place == 0 else f"{host.name}.{own}"
            for place, host in enumerate(self.host)
        }

    @property
    def full_urls(self) -> tuple[str, ...]:
        """URLs that the client gets."""
        return tuple(self.fill(url) for url in self.urls)

    @property
    def number(self) -> int:
        """Number in the addresses of the first host, if the case names its address."""
        return _FIRST_NUMBER + crc32(self.id.encode()) % (_LAST_NUMBER - _FIRST_NUMBER + 1)

    @property
    def address(self) -> str:
        """The IPv4 address of the first host, if the case names it."""
        return f"10.70.{self.number >> 8}.{self.number & 0xFF}"

    @property
    def names_address(self) -> bool:
        """Whether a URL has the address of the first host."""
        return any(f"{{{ADDRESS}}}" in url for url in self.urls)

    def fill(self, text: str, **more: str) -> str:
        """Replace ``{host}``, the names of other hosts, ``{address}``, and ``{{`` by a brace in a text.

        Raises
        ------
        ValueError
            If a name in braces is unknown.
        """
        names = self.hosts | {ADDRESS: self.address} | more

        def replaced(found: re.Match[str]) -> str:
            if found[0] == "{{":
                return "{"
            name = (found[1] or "").removesuffix("}")
            if name not in names:
                known = ", ".join(f"{{{known}}}" for known in names)
                raise ValueError(f"unknown name {found[0]}; write {{{{ for a brace, or one of: {known}")
            return names[name]

        return _PLACEHOLDER.sub(replaced, text)

    @property
    def keepalive(self) -> bool:
        """Whether the client keeps connections: as the case needs it, else as usual."""
        return self.needs.keepalive is not False

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        self._check_hosts()
        if not self.urls:
            raise ValueError("urls: a case needs a URL")
        if self.needs.content and not self.needs.method:
            raise ValueError("needs: content needs a method, such as POST")
        if self.batch > len(self.urls):
            raise ValueError(f"batch: {self.batch} of {len(self.urls)} urls")
        if len(self.urls) > 1 and not self.alone:
            raise ValueError("several urls need alone = true")
        for url in self.urls:
            self.fill(url)
        for outcome in self.outcome:
            if outcome.codes is not None and len(outcome.codes) != len(self.urls):
                raise ValueError(f"codes: {len(outcome.codes)} for {len(self.urls)} urls; give one for each")
            if outcome.peak_mib and not self.alone:
                raise ValueError("peak_mib needs alone = true")
        if self.level is Level.MUST and not _CLAUSE.search(self.clause):
            raise ValueError(f"clause: a must needs its clause, such as RFC 9112, section 5.2; not {self.clause!r}")
        return self

    def _check_hosts(self) -> None:
        names = [host.name for host in self.host[1:]]
        for name in names:
            if not _HOST_NAME.fullmatch(name) or name in {FIRST_HOST, ADDRESS} or names.count(name) > 1:
                allowed = "in a-z, 0-9, - and _"
                raise ValueError(f"every host after the first needs a name of its own, {allowed}, not {name!r}")
        for name in (name for outcome in self.outcome for name in outcome.at):
            if name not in self.hosts:
                raise ValueError(f"outcome.at.{name}: there is no such host; hosts: {', '.join(self.hosts)}")


def read_case(case: str, text: str) -> CaseFile:
    """Read a case file; ``case`` is its id, ``GROUP/NAME``.

    Raises
    ------
    InvalidValue
        If the text is not TOML or breaks the form; the message names file, line, table and key.
    """
    name = f"cases/{case}.toml"
    group, _, own = case.partition("/")
    if group not in GROUPS or not _NAME.fullmatch(own):
        raise InvalidValue(f"{name}: a case is GROUP/NAME.toml in one of the groups {', '.join(GROUPS)}")
    try:
        return CaseFile.model_validate({"id": case, **tomllib.loads(text)})
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(f"{name}: no TOML: {error}") from error
    except ValidationError as error:
        raise InvalidValue(_describe(name, text, error)) from error


def _describe(name: str, text: str, error: ValidationError) -> str:
    """Describe the first mistake in one line: file, line, table, key, what is wrong."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    unknown = re.match("unknown key `(.*?)`", message)
    place = [part for part in first["loc"] if part not in _STEPS and part != "bare"]
    if first["type"] == "extra_forbidden":
        message = f"unknown key `{place.pop()}`"
    line = _line_of(text, [*place, unknown[1]] if unknown else place)
    words: list[str] = []
    for part in place:
        if isinstance(part, int):
            words[-1] += f" {part + 1}"
        else:
            words.append(part)
    where = ", ".join(words)
    given = first.get("input")
    shown = f", not {given!r}" if isinstance(given, str | int | float) and first["type"] != "value_error" else ""
    return f"{name}{f':{line}' if line else ''}: {where}{': ' if where else ''}{message}{shown}"


def _line_of(text: str, place: Sequence[Any]) -> int | None:
    """Return the line of a key: the first that has it after the header of its table; None if it is not found."""
    lines, at = text.splitlines(), 0
    found: int | None = None
    path: list[str] = []
    for number, part in enumerate(place):
        if isinstance(part, int):
            continue
        path.append(str(part))
        index = place[number + 1] if number + 1 < len(place) and isinstance(place[number + 1], int) else 0
        header = re.compile(rf"\s*\[+\s*{re.escape('.'.join(path))}\s*\]+")
        headers = [line for line in range(at, len(lines)) if header.match(lines[line])]
        if index < len(headers):
            at = headers[index]
            found = at + 1
            continue
        key = re.compile(rf"(^|[\s{{,.]){re.escape(str(part))}\s*=")
        if (line := next((line for line in range(at, len(lines)) if key.search(lines[line])), None)) is not None:
            at, found = line, line + 1
    return found


def read_cases(folder: Path = FOLDER) -> dict[str, CaseFile]:
    """Read all case files below a folder, in the order of the groups and their names."""
    found = sorted(folder.glob("*/*.toml"), key=lambda path: (_place_of(path.parent.name), path.stem))
    return {
        case: read_case(case, path.read_text(encoding="utf-8"))
        for path in found
        for case in [f"{path.parent.name}/{path.stem}"]
    }


def _place_of(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def choose_cases(
    cases: Mapping[str, CaseFile], names: Sequence[str], groups: Sequence[str] = (), levels: Sequence[str] = ()
) -> list[CaseFile]:
    """Return the cases of that name, or all, that are of the groups and levels.

    Raises
    ------
    UnknownName
        If a case, a group or a level does not exist; the message names the nearest ones.
    """
    for option, given, known in (
        ("CASE", names, list(cases)),
        ("--group", groups, list(GROUPS)),
        ("--level", levels, [str(level) for level in Level]),
    ):
        for name in given:
            if name not in known:
                raise UnknownName(f"{name!r} does not exist; {nearest(name, known)}", option=option)
    chosen = [cases[name] for name in dict.fromkeys(names)] if names else list(cases.values())
    return [
        case for case in chosen if (not groups or case.group in groups) and (not levels or str(case.level) in levels)
    ]


@dataclass(frozen=True, slots=True)
class ChosenCases:
    """Cases of a run: how they were chosen, and their files."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    levels: tuple[str, ...]
    tries: int
    """Tries of each case."""
    files: tuple[CaseFile, ...]

    @classmethod
    def choose(cls, names: Sequence[str], groups: Sequence[str], levels: Sequence[str], tries: int) -> Self:
        """Choose among the cases of this version; raise ``UnknownName`` as ``choose_cases`` does."""
        files = choose_cases(read_cases(), names, groups, levels)
        return cls(tuple(names), tuple(groups), tuple(levels), tries, tuple(files))

    @classmethod
    def of_settings(cls, settings: Mapping[str, object]) -> Self:
        """Choose again as the settings of a run say.

        Raises
        ------
        NotResumable
            If it is no run of scripted cases, or these have changed since.
        """
        tries, digest = settings.get("tries"), settings.get("cases_sha256")
        if not isinstance(tries, int) or digest is None:
            raise NotResumable("a run without scripted cases cannot be continued; begin a new run")
        changed = NotResumable("the cases have changed since the run began; begin a new run")
        try:
            names, groups, levels = (str(settings.get(name) or "").split() for name in ("cases", "groups", "levels"))
            chosen = cls.choose(names, groups, levels, tries)
        except UnknownName as error:
            raise changed from error
        if chosen.digest != digest:
            raise changed
        return chosen

    @property
    def settings(self) -> dict[str, str | int]:
        """The settings of a run, from which ``of_settings`` chooses again."""
        return {
            "scripted_cases": len(self.files),
            "cases": " ".join(self.names),
            "groups": " ".join(self.groups),
            "levels": " ".join(self.levels),
            "tries": self.tries,
            "cases_sha256": self.digest,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the content of all files: the same digest means the same cases."""
        return hashlib.sha256("\n".join(file.model_dump_json() for file in self.files).encode()).hexdigest()


def nearest(name: str, known: Sequence[str]) -> str:
    """Name the known names that are nearest to an unknown one."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=_NEAR, cutoff=0.5)
    close = close or [one for one in known if name.rpartition("/")[2] in one][:_NEAR]
    if close:
        return f"nearest: {', '.join(close)}"
    return f"choose from: {', '.join(known)}" if len(known) < 12 else "see them with: httpdyno conform --list"


OUTCOMES_OF_RULES: Final = {
    "pass": CaseOutcome.PASS,
    "lenient": CaseOutcome.LENIENT,
    "fail": CaseOutcome.FAIL,
    "unsafe": CaseOutcome.UNSAFE,
}
