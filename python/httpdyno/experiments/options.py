"""Command-line interface of experiments: verbs, options and their parsing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from httpdyno.errors import InvalidValue
from httpdyno.model import LINK_PRESETS, LIVE, Link, SubjectKind, format_exact, parse_duration_ns, parse_size_bytes

HTTP_VERSIONS: Final = ("1.1", "2")
WEBS: Final = ("top-sites", "plain", "contract", "wrong-documents")
"""The webs that come with the engine."""
LINKS: Final = ("direct", *(preset.name for preset in LINK_PRESETS))
"""The links that have a name."""
_MOST_64_BITS: Final = 2**64 - 1
_LEAST_MEMORY_BYTES: Final = 1024**2
"""Least memory limit; programs need more to start. The engine's ``room`` has the same bound."""


class Group(StrEnum):
    """Headings of help, in order."""

    MEASURED = "What is measured"
    WAY = "The web, and the way to it"
    LIVE = "The real internet"
    PUBLISHED = "What others have published"
    MACHINE = "Subjects, and the machine"
    RUN = "The run"
    RESULTS = "Results"


@dataclass(frozen=True, slots=True)
class Option:
    """Mark a field as an option: ``timeout_s: Annotated[float, TIMEOUT] = 5.0``."""

    flag: str
    help: str
    metavar: str | None = None
    environment: str | None = None
    """The equivalent environment variable."""
    read: Callable[[str, str], Any] | None = None
    """Parse the text; the flag is for error messages. None: keep the text."""
    least: float | None = None
    most: float | None = None
    shown_default: str | None = None
    """Description of a default without a value, for help."""
    stored: bool = True
    """Whether the manifest keeps it."""
    group: Group = Group.MEASURED
    offers: Sequence[str] | SubjectKind = ()
    """Completions of the shell: words, or names of subjects of a kind."""

    @property
    def parameter(self) -> str:
        """Its name as a parameter of a function: ``link_seed`` of ``--link-seed``."""
        return self.flag.removeprefix("--").replace("-", "_")


class OptionField(NamedTuple):
    """A field of an experiment that is an option."""

    name: str
    option: Option
    typed: Any
    """The type on the command line: text if it is parsed, else that of the field."""
    default: object
    """The default as typed; None: none."""


def option_fields(kind: type[Any]) -> tuple[OptionField, ...]:
    """List the options of a dataclass, in the order of its fields."""
    return _option_fields(kind)  # type: ignore[arg-type]  # mypy does not see that a class can be hashed


@cache
def _option_fields(kind: type[Any]) -> tuple[OptionField, ...]:
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for field in fields(kind):
        option = next((mark for mark in get_args(hints[field.name])[1:] if isinstance(mark, Option)), None)
        if option is None:
            continue
        assert field.default is not MISSING, f"{field.name}: what may be left out has a default"
        default = format_exact(field.default) if isinstance(field.default, float) else field.default
        own = get_args(hints[field.name])[0]
        typed = own if option.read is None else (str | None if default is None else str)
        found.append(OptionField(field.name, option, typed, default))
    return tuple(found)


def read_options(kind: type[Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Parse command-line values by parameter name into values of fields.

    Raises
    ------
    InvalidValue
        If one of them cannot be read; the message names the option.
    """
    values = {}
    for name, option, _, _ in option_fields(kind):
        value = typed[option.parameter]
        values[name] = option.read(value, option.flag) if option.read is not None and value is not None else value
    return values


def stored_options(options: object) -> dict[str, Any]:
    """Return the values of the options that the manifest keeps; the others become part of derived settings."""
    return {one.name: getattr(options, one.name) for one in option_fields(type(options)) if one.option.stored}


def seconds(text: str, flag: str) -> float:
    """Read a time."""
    return parse_duration_ns(text, name=flag) / 1e9


def _memory(text: str, flag: str) -> int:
    size = parse_size_bytes(text, name=flag)
    if size < _LEAST_MEMORY_BYTES:
        raise InvalidValue(f"{flag}: {text[:60]!r} is too small; write 1MiB or more, like 2GiB")
    return size


def _http_version(text: str, flag: str) -> str:
    version = text.strip()
    if version and version not in HTTP_VERSIONS:
        raise InvalidValue(f"{flag}: {version[:40]!r} is not understood; give {' or '.join(HTTP_VERSIONS)}")
    return version


def link_option(ends: str) -> Option:
    """Return ``--link``; ``ends`` names the two ends of the path."""
    return Option(
        "--link",
        f"Path between {ends}: rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%,mtu=1500, one way with up. or down.; "
        "or lan, dc, broadband, 4g, satellite, with changes after it: 4g,loss=1%.",
        metavar="SPEC",
        read=lambda text, _: str(Link.parse(text)),
        group=Group.WAY,
        offers=LINKS,
    )


TIMEOUT: Final = Option(
    "--timeout",
    "Timeout of one URL: seconds, or with a unit (800ms).",
    metavar="TIME",
    environment="REQUEST_TIMEOUT",
    read=seconds,
)
DURATION: Final = Option(
    "--duration",
    "Deadline of a trial: seconds, or with a unit (10m).",
    metavar="TIME",
    environment="DURATION",
    read=seconds,
)
HTTP_VERSION: Final = Option(
    "--http-version",
    "HTTP version of all clients; clients without support are unavailable. Default: each client's own.",
    metavar="1.1|2",
    environment="HTTP_VERSION",
    read=_http_version,
    offers=HTTP_VERSIONS,
)
USER_AGENT: Final = Option(
    "--user-agent",
    "User agent to send. Default: each client's own.",
    metavar="TEXT",
    environment="USER_AGENT",
)
SEED: Final = Option(
    "--seed",
    "Seed of the web and of the order of trials.",
    metavar="N",
    least=0,
    most=_MOST_64_BITS,
    shown_default="the web's own",
    stored=False,
    group=Group.WAY,
)
LINK: Final = link_option("client and web")
LINK_SEED: Final = Option(
    "--link-seed",
    "Seed of the link: which packets are lost.",
    metavar="N",
    least=0,
    most=_MOST_64_BITS,
    group=Group.WAY,
)
AGAINST: Final = Option(
    "--against",
    "Measure against another machine, such as http://other:8080, where `httpdyno origin --listen` runs.",
    metavar="URL",
    group=Group.WAY,
)
PEER: Final = Option(
    "--peer",
    "Server to use instead of the engine's origin, such as apache.",
    metavar="SERVER",
    group=Group.WAY,
    offers=SubjectKind.SERVER,
)
REPEAT: Final = Option(
    "--repeat",
    "How many blocks: each subject runs once in each. Default: 5, or 7 for more than five subjects.",
    metavar="N",
    least=1,
    group=Group.RUN,
)
MEMORY: Final = Option(
    "--memory",
    "Memory limit of the subject, such as 2GiB.",
    metavar="SIZE",
    read=_memory,
    group=Group.MACHINE,
)


def quick_option(meaning: str) -> Option:
    """Return ``--quick`` with the meaning of a first look."""
    return Option("--quick", f"A first look: {meaning}", group=Group.RUN)


def preset_option(*names: str) -> Option:
    """Return ``--preset`` with the names of all publications."""
    *others, last = names or ("published",)
    known = f"{', '.join(others)} or {last}" if others else last
    return Option(
        "--preset",
        f"Repeat a published measurement and compare; one of: {known}.",
        metavar="NAME",
        group=Group.PUBLISHED,
        offers=(*others, last),
    )


def scale_option(what: str) -> Option:
    """Return ``--scale``; ``what`` names the scaled quantities."""
    return Option("--scale", f"Share of the preset's {what}, such as 1/10.", metavar="SHARE", group=Group.PUBLISHED)


def web_option(default: str, *, live: bool = False) -> Option:
    """Return ``--web``; ``live``: allow the real internet."""
    others = ", the TOML file of a web model, or live: the real internet, for the list of --urls"
    others = others if live else ", or the TOML file of a web model"
    return Option(
        "--web",
        f"{', '.join(WEBS)}{others}.",
        metavar="WEB",
        shown_default=default,
        stored=False,
        group=Group.WAY,
        offers=(*WEBS, LIVE) if live else WEBS,
    )


@dataclass(frozen=True, slots=True)
class Verb:
    """The verb of an experiment. It lives with the options, so that help and parsing import no measuring code."""

    name: str
    """The verb as typed and as in manifests: ``bench``."""
    options: type[Any]
    """A dataclass whose fields are marked with ``Option``."""
    help: str
    """Its help, in one sentence."""
    names: str
    """Help for the subjects: possible names, and the default."""
    examples: Sequence[tuple[str, str]] = ()
    """Command lines, each with its purpose."""
    named: str = "SUBJECT"
    kinds: Sequence[SubjectKind] = (SubjectKind.CLIENT,)
    """Kinds of subjects that can be named."""
    must_name: bool = False
    """Whether subjects must be named."""
    fetcher: bool = False
    """Whether the capacity of the web is measured before all trials."""


_MOST_VALUES: Final = 10_000
"""Most values of a list; more are a typing error."""
_GOES_ON: Final = "..."
_RANGE: Final = ".."


def parse_values(text: str, read: Callable[[str], int], *, name: str) -> tuple[int, ...]:
    """Read a list of values.

    ``A,B,...,Z`` continues in the step from A to B, up to Z; ``A..Z`` goes from A to Z in steps of A. Either must reach
    Z exactly, so that a mistyped list is refused.

    Return the values in ascending order. Duplicates and more than 10,000 values are refused.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InvalidValue(f"{name}: {text[:60]!r} is not understood; write values with commas between them")
    values: list[int] = []
    for place, part in enumerate(parts):
        if part == _GOES_ON:
            more: Sequence[int] = _between(values, place, parts, read, name)
        else:
            more = _range(part, read, name) if _RANGE in part else (read(part),)
        if more[_MOST_VALUES - len(values) :]:
            raise InvalidValue(f"{name}: a list has at most {_MOST_VALUES:,} values; make the steps larger")
        values += more
    if len(set(values)) != len(values):
        twice = next(part for part in parts if part != _GOES_ON)
        raise InvalidValue(f"{name}: {text[:60]!r} has a value twice ({twice} or one after it); give each of them once")
    return tuple(sorted(values))


def _between(values: list[int], place: int, parts: list[str], read: Callable[[str], int], name: str) -> range:
    """Return the values between those before ``...`` and the one after it."""
    if place < 2 or place + 1 >= len(parts) or len(values) < 2 or _GOES_ON in (parts[place - 1], parts[place + 1]):
        raise InvalidValue(f"{name}: {_GOES_ON} needs two values before it and one after it, as in 0,100,...,500")
    before, last, end = values[-2], values[-1], read(parts[place + 1])
    step = last - before
    if step <= 0 or end <= last or (end - last) % step:
        shown = ",".join(parts[place - 2 : place + 2])
        raise InvalidValue(
            f"{name}: {shown} never reaches {parts[place + 1]} in the step of the two values before it;"
            " write an end that it reaches"
        )
    return range(last + step, end, step)


def _range(part: str, read: Callable[[str], int], name: str) -> range:
    first, last = (end.strip() for end in part.split(_RANGE, 1))
    if not first or not last or last.startswith("."):
        raise InvalidValue(f"{name}: {part[:60]!r} is not understood; write a range like 200..1000")
    begin, end = read(first), read(last)
    if begin <= 0 or end <= begin or end % begin:
        raise InvalidValue(
            f"{name}: {part} never reaches {last} in steps of {first}; "
            f"write {first},...,{last} with the second value, too"
        )
    return range(begin, end + 1, begin)
