"""Options of an experiment: a field each, whose mark alone says how it is typed, what it means and how it is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from httpdyno.errors import InvalidValue
from httpdyno.model import LINK_PRESETS, LIVE, Link, SubjectKind, format_exact, parse_duration_ns, parse_size_bytes

__all__ = [
    "AGAINST",
    "DURATION",
    "HTTP_VERSION",
    "HTTP_VERSIONS",
    "LINK",
    "LINKS",
    "LINK_SEED",
    "MEMORY",
    "PEER",
    "REPEAT",
    "SEED",
    "TIMEOUT",
    "USER_AGENT",
    "WEBS",
    "Group",
    "Option",
    "OptionField",
    "link_option",
    "option_fields",
    "preset_option",
    "quick_option",
    "read_options",
    "scale_option",
    "seconds",
    "stored_options",
    "web_option",
]

HTTP_VERSIONS: Final = ("1.1", "2")
WEBS: Final = ("top-sites", "plain", "contract", "wrong-documents")
"""The webs that come with the engine."""
LINKS: Final = ("direct", *(preset.name for preset in LINK_PRESETS))
"""The links that have a name."""
_MOST_64_BITS: Final = 2**64 - 1
_LEAST_MEMORY_BYTES: Final = 1024**2
"""Less than this no program starts in; a number without its unit is bytes. The engine's ``room`` has the same bound."""


class Group(StrEnum):
    """Under which heading help shows an option; in this order."""

    MEASURED = "What is measured"
    WAY = "The web, and the way to it"
    LIVE = "The real internet"
    PUBLISHED = "What others have published"
    MACHINE = "Subjects, and the machine"
    RUN = "The run"
    RESULTS = "Results"


@dataclass(frozen=True, slots=True)
class Option:
    """Makes a field an option: ``timeout_s: Annotated[float, TIMEOUT] = 5.0``."""

    flag: str
    help: str
    metavar: str | None = None
    environment: str | None = None
    """The variable of the environment that does the same."""
    read: Callable[[str, str], Any] | None = None
    """Reads what was typed, given the flag for its message; None: it is taken as it stands."""
    least: float | None = None
    most: float | None = None
    shown_default: str | None = None
    """What help says of a default that is no value."""
    stored: bool = True
    """Whether the manifest keeps it."""
    group: Group = Group.MEASURED
    offers: Sequence[str] | SubjectKind = ()
    """What the shell offers: words, or the names of subjects of a kind."""

    @property
    def parameter(self) -> str:
        """Its name as a parameter of a function: ``link_seed`` of ``--link-seed``."""
        return self.flag.removeprefix("--").replace("-", "_")


class OptionField(NamedTuple):
    """A field of an experiment that is an option."""

    name: str
    option: Option
    typed: Any
    """The type of what is typed: text where it is read, else that of the field."""
    default: object
    """As it would be typed; None: nothing."""


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
    """Read what was typed, by the names of parameters, as values of fields.

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
    """Return the values of those options that the manifest keeps: others are folded into what is made of them."""
    return {one.name: getattr(options, one.name) for one in option_fields(type(options)) if one.option.stored}


def seconds(text: str, flag: str) -> float:
    """Read a time."""
    return parse_duration_ns(text, name=flag) / 1e9


def _memory(text: str, flag: str) -> int:
    size = parse_size_bytes(text, name=flag)
    if size < _LEAST_MEMORY_BYTES:
        raise InvalidValue(f"{flag}: {text[:60]!r} is too little for any program; write 1MiB or more, like 2GiB")
    return size


def _link(text: str, _: str) -> str:
    return str(Link.parse(text))


def _http_version(text: str, flag: str) -> str:
    version = text.strip()
    if version and version not in HTTP_VERSIONS:
        raise InvalidValue(f"{flag}: {version[:40]!r} is not understood; give {' or '.join(HTTP_VERSIONS)}")
    return version


def link_option(ends: str) -> Option:
    """Return ``--link`` with what lies at its ends."""
    return Option(
        "--link",
        f"Path between {ends}: rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%,mtu=1500, one way with up. or down.; "
        "or lan, dc, broadband, 4g, satellite, with changes after it: 4g,loss=1%.",
        metavar="SPEC",
        read=_link,
        group=Group.WAY,
        offers=LINKS,
    )


TIMEOUT: Final = Option(
    "--timeout",
    "What a client gives one URL: seconds, or with a unit (800ms).",
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
    "The one version of HTTP that clients are told to speak; who does not claim it is unavailable. Default: "
    "each client's own.",
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
    "A server that answers instead of the engine's own origin, such as apache.",
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
    """Return ``--quick`` with what a first look is."""
    return Option("--quick", f"A first look: {meaning}", group=Group.RUN)


def preset_option(*names: str) -> Option:
    """Return ``--preset`` with the publications that there are."""
    *others, last = names or ("published",)
    known = f"{', '.join(others)} or {last}" if others else last
    return Option(
        "--preset",
        f"Measure again what was published, and print both; takes: {known}.",
        metavar="NAME",
        group=Group.PUBLISHED,
        offers=(*others, last),
    )


def scale_option(what: str) -> Option:
    """Return ``--scale`` with what it takes a share of."""
    return Option(
        "--scale", f"Take that share of a preset's {what}, such as 1/10.", metavar="SHARE", group=Group.PUBLISHED
    )


def web_option(default: str, *, live: bool = False) -> Option:
    """Return ``--web``; ``live``: it may be the real internet."""
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
