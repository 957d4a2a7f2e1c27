"""The path between subject and peer: links, their presets, and the grammar in which they are written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from httpdyno.errors import InvalidValue

BILLION: Final = 10**9
HOUR_NS: Final = 3600 * BILLION
MTUS: Final = range(1280, 65536)
"""Below 1,280 bytes, the minimum of an IPv6 link (RFC 8200, section 5), Linux disables IPv6 on a device."""
RATES_BITS_PER_S: Final = range(1000, 10**12 + 1)
_PERCENT: Final = BILLION // 100
_TIMES: Final = {"s": BILLION, "ms": 10**6, "us": 1000, "ns": 1}
_RATES: Final = {"tbit": 10**12, "gbit": BILLION, "mbit": 10**6, "kbit": 1000, "bit": 1}
_NUMBER: Final = re.compile(
    r"(?P<whole>[0-9]{1,15})(?:\.(?P<fraction>[0-9]{1,15}))?(?P<unit>[A-Za-z]+|%)|(?P<plain>[0-9]{1,5})"
)
_LOSSES: Final = {"%": _PERCENT}
_ENDS: Final = ("up", "down")
_TIME: Final = (_TIMES, range(HOUR_NS + 1), "is not a time; write 40ms, 250us or 1.5s, up to an hour")
_QUANTITIES: Final[Mapping[str, tuple[Mapping[str, int], range, str]]] = {
    "rtt": _TIME,
    "delay": _TIME,
    "rate": (
        _RATES,
        RATES_BITS_PER_S,
        "is not a rate; write 1gbit, 20mbit or 1.5mbit, from 1kbit to 1tbit per second",
    ),
    "queue": _TIME,
    "loss": (_LOSSES, range(BILLION), "is not a loss; write 0.1%, below 100 %"),
    "mtu": ({"": 1}, MTUS, "is not a packet length; write 1280 (the minimum for IPv6) to 65535 bytes"),
}
"""Units, allowed values and the message about other values, by the name of a key."""
_OF_BOTH: Final = {"rtt": "write up.delay or down.delay", "mtu": "write mtu"}
"""Keys that have no direction, and what to write instead."""


class LinkTextError(Exception):
    """Error in the text of a link, without the text itself."""


def key_value(part: str) -> tuple[str, int]:
    """Read one ``KEY=VALUE``: a time in nanoseconds, a rate in bits a second, a loss in billionths, or bytes."""
    key, equals, text = part.partition("=")
    if not equals:
        raise LinkTextError(f"{_quoted(part)} must be KEY=VALUE: a preset must come first")
    end, _, name = key.rpartition(".")
    if end in _ENDS and name in _OF_BOTH:
        raise LinkTextError(f"{key} applies to both directions; {_OF_BOTH[name]}")
    if end not in ("", *_ENDS) or name not in _QUANTITIES or key.startswith("."):
        raise LinkTextError(
            f"unknown key {_quoted(key)}; known: rtt, delay, rate, queue, loss, mtu, and up. or down. before all "
            "but rtt and mtu"
        )
    units, allowed, wrong = _QUANTITIES[name]
    value = _scale(text, units)
    if value is None or value not in allowed:
        raise LinkTextError(f"{key}: {_quoted(text)} {wrong}")
    return key, value


def _scale(text: str, units: Mapping[str, int]) -> int | None:
    """Return a decimal number times its unit; None unless that is a whole number. A rate may have capital letters."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["plain"]:
        return int(text) if match and (text == "0" or "" in units) else None
    unit, fraction = match["unit"], match["fraction"] or ""
    factor = units.get(unit.lower() if units is _RATES else unit)
    if factor is None:
        return None
    value, rest = divmod(int(match["whole"] + fraction) * factor, 10 ** len(fraction))
    return None if rest else value


def _written(key: str, ways: tuple[int | None, int | None], units: Mapping[str, int]) -> list[str]:
    """Write one key, for both directions where they agree, in the largest unit that needs no fraction."""
    up, down = (None if value is None else _write(value, units) for value in ways)
    if up is not None and up == down:
        return [f"{key}={up}"]
    return [f"{end}.{key}={value}" for end, value in zip(_ENDS, (up, down), strict=True) if value is not None]


def _write(value: int, units: Mapping[str, int]) -> str:
    if units is _LOSSES:
        return f"{value / _PERCENT:.7f}".rstrip("0").rstrip(".") + "%"
    return next((f"{value // factor}{unit}" for unit, factor in units.items() if value and value % factor == 0), "0")


def _quoted(text: str) -> str:
    return repr(text[:80]) + ("..." if len(text) > 80 else "")


@dataclass(frozen=True, slots=True)
class LinkPreset:
    """A link with a name."""

    name: str
    spec: str
    """The link, as ``Link.parse`` reads it."""
    about: str
    source: str
    """Source of its figures, and which of them are our own round ones."""


LINK_PRESETS: Final = (
    LinkPreset(
        "lan",
        "rtt=0.3ms,rate=1gbit,queue=10ms",
        "two machines at one switch, with gigabit Ethernet",
        "rate: IEEE 802.3ab (1000BASE-T). Round figures: round trip, queue",
    ),
    LinkPreset(
        "dc",
        "rtt=0.5ms,rate=5gbit,queue=10ms",
        "two virtual machines in one data centre",
        "rate: Amazon EC2 user guide, instance network bandwidth: one flow outside a cluster placement group gets 5 "
        "Gbit/s. Round trip: J. Dean, Software engineering advice from building large-scale distributed systems "
        "(2007), numbers everyone should know. Round figure: queue",
    ),
    LinkPreset(
        "broadband",
        "rtt=20ms,down.rate=100mbit,up.rate=20mbit",
        "a home with what the United States call broadband",
        "rates: FCC, 2024 Section 706 report (FCC 24-27): 100 Mbit/s down, 20 up. Round figures: round trip, queue",
    ),
    LinkPreset(
        "4g",
        "rtt=53ms,down.rate=14.7mbit,up.rate=13.6mbit",
        "a phone on LTE in a city",
        "all: averages of Ofcom, Measuring mobile broadband performance in the UK (April 2015): 14.7 Mbit/s down, 13.6 "
        "up, 53.1 ms. Round figure: queue",
    ),
    LinkPreset(
        "satellite",
        "rtt=558ms,down.rate=100mbit,up.rate=10mbit",
        "a dish that looks at a geostationary satellite",
        "round trip: RFC 2488, section 2, from the edge of the satellite's view. Rates: the subscription in: Fact "
        "checking Starlink's performance figures (APNIC blog, 28 November 2022). Round figure: queue",
    ),
)
"""From near to far."""


DEFAULT_MTU_BYTES: Final = 1500
"""Largest IP packet of a link by default: that of Ethernet."""
DEFAULT_QUEUE_NS: Final = 100_000_000
"""Longest wait of a packet for a rate whose queue is not set."""


@dataclass(frozen=True, slots=True)
class LinkPath:
    """One direction of a link."""

    delay_ns: int = 0
    """Delay of each packet."""
    rate_bits_per_s: int | None = None
    """Bits of IP packets per second; None: not limited."""
    queue_ns: int | None = None
    """Longest wait of a packet for the rate; packets that would wait longer are dropped. None without a rate."""
    loss: float = 0.0
    """Share of packets that are lost, from 0 to below 1; kept to one billionth."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an impossible path."""
        for name, time_ns in (("delay", self.delay_ns), ("queue", self.queue_ns or 0)):
            if not 0 <= time_ns <= HOUR_NS:
                raise InvalidValue(f"link: the {name} lies between 0 and an hour: {time_ns} ns")
        if self.rate_bits_per_s is not None and self.rate_bits_per_s not in RATES_BITS_PER_S:
            raise InvalidValue(f"link: a rate lies between 1 kbit/s and 1 Tbit/s: {self.rate_bits_per_s} bit/s")
        if (self.queue_ns is None) != (self.rate_bits_per_s is None):
            raise InvalidValue("link: a rate has a queue before it, and a queue a rate to wait for")
        if not (self.loss >= 0 and self.loss_billionths < BILLION):
            raise InvalidValue(f"link: the loss lies between 0 and below 1: {self.loss}")

    @property
    def loss_billionths(self) -> int:
        """The loss as the engine counts it."""
        return round(self.loss * BILLION)


@dataclass(frozen=True, slots=True)
class Link:
    """The path between subject and peer, both ways; the default is a direct one that adds nothing."""

    up: LinkPath = field(default_factory=LinkPath)
    """From the subject to its peer."""
    down: LinkPath = field(default_factory=LinkPath)
    """From the peer to the subject."""
    mtu_bytes: int = DEFAULT_MTU_BYTES
    """The largest IP packet."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for an MTU out of range."""
        if self.mtu_bytes not in MTUS:
            raise InvalidValue(f"link: the mtu lies between 1280 and 65535 bytes: {self.mtu_bytes}")

    @classmethod
    def symmetric(
        cls,
        *,
        round_trip_ns: int = 0,
        rate_bits_per_s: int | None = None,
        queue_ns: int | None = None,
        loss: float = 0.0,
        mtu_bytes: int = DEFAULT_MTU_BYTES,
    ) -> Self:
        """Return a link with the same path both ways; a rate without a queue gets the default one."""
        if rate_bits_per_s is not None and queue_ns is None:
            queue_ns = DEFAULT_QUEUE_NS
        half = round_trip_ns // 2
        up = LinkPath(half, rate_bits_per_s, queue_ns, loss)
        return cls(up, replace(up, delay_ns=round_trip_ns - half), mtu_bytes)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a link such as ``rtt=40ms,rate=1gbit``, ``up.rate=20mbit,down.rate=100mbit`` or ``4g,loss=0``."""
        try:
            return cls._read(text)
        except LinkTextError as refused:
            raise InvalidValue(f"link {_quoted(text)}: {refused}") from None

    @classmethod
    def _read(cls, text: str) -> Self:
        first, *others = parts = [part.strip(" ") for part in text.split(",")]
        if not first:
            names = ", ".join(preset.name for preset in LINK_PRESETS)
            raise LinkTextError(f"it is empty; write rtt=40ms,rate=1gbit, a preset ({names}), or direct")
        base = cls()
        if "=" not in first:
            links = {"direct": "rtt=0", **{preset.name: preset.spec for preset in LINK_PRESETS}}
            if first not in links:
                raise LinkTextError(
                    f"there is no preset {_quoted(first)}; known: {', '.join(links)}; otherwise write KEY=VALUE"
                )
            base, parts = cls._read(links[first]), others
        given: dict[str, int] = {}
        for part in parts:
            key, value = key_value(part)
            if key in given:
                raise LinkTextError(f"{key} is given twice")
            given[key] = value
        if "rtt" in given:
            if given.keys() & {"delay", "up.delay", "down.delay"}:
                raise LinkTextError("give the distance once: rtt (both ways together) or delay (each way)")
            half = given["rtt"] // 2
            given |= {"up.delay": half, "down.delay": given["rtt"] - half}
        up, down = _over(base.up, given, "up"), _over(base.down, given, "down")
        for key, limited in (("up.", up), ("down.", down), ("", up if up.rate_bits_per_s else down)):
            if f"{key}queue" in given and limited.rate_bits_per_s is None:
                raise LinkTextError(f"{key}queue needs a rate to wait for; add {key}rate=100mbit, or remove the queue")
        return cls(up, down, given.get("mtu", base.mtu_bytes))

    @property
    def direct(self) -> bool:
        """Whether the link adds nothing."""
        return self == Link()

    @property
    def round_trip_ns(self) -> int:
        """Round trip without queues: the delays of both directions."""
        return self.up.delay_ns + self.down.delay_ns

    def __str__(self) -> str:
        """Write the link as the command line and the records do: ``rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%``.

        Each link has one text, which ``parse`` reads as the same link. It always names the queue, so that it means the
        same when defaults change.
        """
        up, down = self.up, self.down
        if up.delay_ns == self.round_trip_ns // 2 and self.round_trip_ns <= HOUR_NS:
            parts = [f"rtt={_write(self.round_trip_ns, _TIMES)}"] if self.round_trip_ns else []
        else:
            parts = _written("delay", (up.delay_ns or None, down.delay_ns or None), _TIMES)
        parts += _written("rate", (up.rate_bits_per_s, down.rate_bits_per_s), _RATES)
        # A queue of both directions is one of those that have a rate.
        queues = [path.queue_ns for path in (up, down) if path.queue_ns is not None]
        parts += _written("queue", (queues[0], queues[-1]) if queues else (None, None), _TIMES)
        parts += _written("loss", (up.loss_billionths or None, down.loss_billionths or None), _LOSSES)
        if self.mtu_bytes != DEFAULT_MTU_BYTES:
            parts.append(f"mtu={self.mtu_bytes}")
        return ",".join(parts) or "direct"


def _over(path: LinkPath, given: Mapping[str, int], end: str) -> LinkPath:
    """Return ``path`` with the keys of both directions, and those of this one, which take precedence."""
    queue = DEFAULT_QUEUE_NS if path.queue_ns is None else path.queue_ns
    base = {"delay": path.delay_ns, "rate": path.rate_bits_per_s, "queue": queue, "loss": path.loss_billionths}
    own = {key: given.get(f"{end}.{key}", given.get(key, value)) for key, value in base.items()}
    return LinkPath(own["delay"] or 0, own["rate"], own["queue"] if own["rate"] else None, (own["loss"] or 0) / BILLION)
