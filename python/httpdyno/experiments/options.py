"""Options that several experiments share, their verbs, and lists of values as they are typed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.option_fields import Group, Option
from httpdyno.experiments.option_fields import option as option  # for experiments, which import both
from httpdyno.model import LINK_PRESETS, LIVE, Link, SubjectKind, parse_duration_ns, parse_size_bytes

WEBS: Final = ("top-sites", "plain", "contract", "wrong-documents", "wild")
"""The webs that ship with the engine."""
LINKS: Final = ("direct", *(preset.name for preset in LINK_PRESETS))
"""The named links."""
_MOST_64_BITS: Final = 2**64 - 1


def seconds(text: str, flag: str) -> float:
    """Read a time."""
    return parse_duration_ns(text, name=flag) / 1e9


def _memory(text: str, flag: str) -> int:
    size = parse_size_bytes(text, name=flag)
    # Programs need more to start; the engine's `room` has the same bound.
    if size < 1024**2:
        raise InvalidValue(f"{text[:60]!r} is too small; write 1MiB or more, like 2GiB", option=flag)
    return size


def link_option(ends: str) -> Option:
    """Return ``--link``; ``ends`` names the two ends of the path."""
    return Option(
        "--link SPEC",
        f"Path between {ends}: rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%,mtu=1500, one way with up. or down.; "
        "or lan, dc, broadband, 4g, satellite, with changes after it: 4g,loss=1%.",
        read=lambda text, _: str(Link.parse(text)),
        group=Group.WAY,
        offers=LINKS,
    )


TIMEOUT: Final = Option(
    "--timeout TIME",
    "Timeout of one URL: seconds, or with a unit (800ms).",
    environment="REQUEST_TIMEOUT",
    read=seconds,
)
DURATION: Final = Option(
    "--duration TIME", "Deadline of a trial: seconds, or with a unit (10m).", environment="DURATION", read=seconds
)
SEED: Final = Option(
    "--seed N",
    "Seed of the web and of the order of trials.",
    least=0,
    most=_MOST_64_BITS,
    shown_default="the web's own",
    stored=False,
    group=Group.WAY,
)
LINK: Final = link_option("client and web")
LINK_SEED: Final = Option(
    "--link-seed N", "Seed of the link: which packets are lost.", least=0, most=_MOST_64_BITS, group=Group.WAY
)
AGAINST: Final = Option(
    "--against URL",
    "Measure against another machine, such as http://other:8080, where `httpdyno origin --listen` runs.",
    group=Group.WAY,
)
REPEAT: Final = Option(
    "--repeat N",
    "Number of blocks; each subject runs once in each. Default: 5, or 7 for more than five subjects.",
    least=1,
    group=Group.RUN,
)
MEMORY: Final = Option("--memory SIZE", "Memory limit of the subject, such as 2GiB.", read=_memory, group=Group.MACHINE)


def quick_option(meaning: str) -> Option:
    """Return ``--quick``; ``meaning`` describes what it shortens."""
    return Option("--quick", f"A first look: {meaning}", group=Group.RUN)


def preset_option(*names: str) -> Option:
    """Return ``--preset`` with the names of all publications."""
    *others, last = names or ("published",)
    known = f"{', '.join(others)} or {last}" if others else last
    return Option(
        "--preset NAME",
        f"Repeat a published measurement and compare; one of: {known}.",
        group=Group.PUBLISHED,
        offers=(*others, last),
    )


def scale_option(what: str) -> Option:
    """Return ``--scale``; ``what`` names the scaled quantities."""
    return Option("--scale SHARE", f"Share of the preset's {what}, such as 1/10.", group=Group.PUBLISHED)


def web_option(default: str, *, live: bool = False) -> Option:
    """Return ``--web``; ``live``: allow the real internet."""
    others = ", the TOML file of a web model, or live: the real internet, for the list of --urls"
    others = others if live else ", or the TOML file of a web model"
    return Option(
        "--web WEB",
        f"{', '.join(WEBS)}{others}.",
        shown_default=default,
        stored=False,
        group=Group.WAY,
        offers=(*WEBS, LIVE) if live else WEBS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomOptions:
    """Options of the rooms of trials: the web, the path to it, and the memory of the subject. None: not given."""

    web: str | None = None
    """Name or file of the web; an experiment with a choice of webs makes it an option."""
    seed: Annotated[int | None, SEED] = None
    link: Annotated[str, LINK] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    against: Annotated[str | None, AGAINST] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(RoomOptions):
    """Options of experiments whose clients call one server in blocks of trials; None: not given."""

    peer: str | None = option(
        None,
        "--peer SERVER",
        "Server to use instead of the engine's origin, such as apache.",
        group=Group.WAY,
        offers=SubjectKind.SERVER,
    )
    repeat: Annotated[int | None, REPEAT] = None
    preset: Annotated[str | None, preset_option()] = None


@dataclass(frozen=True, slots=True)
class Verb:
    """The verb of an experiment. Defined with the options, so that help and parsing import no measuring code."""

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
    """Parse a list of values.

    ``A,B,...,Z`` continues with the step from A to B, up to Z; ``A..Z`` goes from A to Z in steps of A. Both must reach
    Z exactly, so that a mistyped list is refused.

    Return the values in ascending order. Duplicates and more than 10,000 values are refused.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InvalidValue(f"{text[:60]!r} is not understood; write values with commas between them", option=name)
    values: list[int] = []
    for place, part in enumerate(parts):
        if part == _GOES_ON:
            more: Sequence[int] = _between(values, place, parts, read, name)
        else:
            more = _range(part, read, name) if _RANGE in part else (read(part),)
        if more[_MOST_VALUES - len(values) :]:
            raise InvalidValue(f"a list has at most {_MOST_VALUES:,} values; make the steps larger", option=name)
        values += more
    if len(set(values)) != len(values):
        twice = next(part for part in parts if part != _GOES_ON)
        raise InvalidValue(
            f"{text[:60]!r} has a value twice ({twice} or one after it); give each of them once", option=name
        )
    return tuple(sorted(values))


def _between(values: list[int], place: int, parts: list[str], read: Callable[[str], int], name: str) -> range:
    if place < 2 or place + 1 >= len(parts) or len(values) < 2 or _GOES_ON in (parts[place - 1], parts[place + 1]):
        raise InvalidValue(f"{_GOES_ON} needs two values before it and one after it, as in 0,100,...,500", option=name)
    before, last, end = values[-2], values[-1], read(parts[place + 1])
    step = last - before
    if step <= 0 or end <= last or (end - last) % step:
        shown = ",".join(parts[place - 2 : place + 2])
        raise InvalidValue(
            f"{shown} never reaches {parts[place + 1]} in the step of the two values before it;"
            " write an end that it reaches",
            option=name,
        )
    return range(last + step, end, step)


def _range(part: str, read: Callable[[str], int], name: str) -> range:
    first, last = (end.strip() for end in part.split(_RANGE, 1))
    if not first or not last or last.startswith("."):
        raise InvalidValue(f"{part[:60]!r} is not understood; write a range like 200..1000", option=name)
    begin, end = read(first), read(last)
    if begin <= 0 or end <= begin or end % begin:
        raise InvalidValue(
            f"{part} never reaches {last} in steps of {first}; write {first},...,{last} with the second value, too",
            option=name,
        )
    return range(begin, end + 1, begin)
