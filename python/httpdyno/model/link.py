"""The path between subject and peer: read and written in the grammar of the engine's own links."""

from dataclasses import dataclass, field, replace
from typing import Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.model.link_presets import LINK_PRESETS
from httpdyno.model.link_text import (
    BILLION,
    HOUR_NS,
    MTUS,
    RATES_BITS_PER_S,
    LinkTextError,
    key_value,
    one_or_each,
    quoted,
    written_loss,
    written_rate,
    written_time,
)

__all__ = ["DEFAULT_MTU_BYTES", "DEFAULT_QUEUE_NS", "Link", "LinkPath"]

DEFAULT_MTU_BYTES: Final = 1500
"""The largest IP packet of a link that names none: Ethernet's."""
DEFAULT_QUEUE_NS: Final = 100_000_000
"""The longest that a packet may wait for a rate that names no queue."""


@dataclass(frozen=True, slots=True)
class LinkPath:
    """One direction of a link."""

    delay_ns: int = 0
    """How long every packet takes, once it was sent."""
    rate_bits_per_s: int | None = None
    """Bits of IP packets a second; None: as fast as the machine is."""
    queue_ns: int | None = None
    """The longest that a packet may wait for the rate; who would wait longer is dropped. None without a rate."""
    loss: float = 0.0
    """Share of packets that are lost, from 0 to below 1; kept to one billionth."""

    def __post_init__(self) -> None:
        """Refuse a path that cannot exist."""
        if not 0 <= self.delay_ns <= HOUR_NS:
            raise InvalidValue(f"link: a delay lies between 0 and an hour: {self.delay_ns} ns")
        if self.rate_bits_per_s is not None and self.rate_bits_per_s not in RATES_BITS_PER_S:
            raise InvalidValue(f"link: a rate lies between 1 kbit/s and 1 Tbit/s: {self.rate_bits_per_s} bit/s")
        if (self.queue_ns is None) != (self.rate_bits_per_s is None):
            raise InvalidValue("link: a rate has a queue before it, and a queue a rate to wait for")
        if self.queue_ns is not None and not 0 <= self.queue_ns <= HOUR_NS:
            raise InvalidValue(f"link: the queue lies between 0 and an hour: {self.queue_ns} ns")
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
        """Refuse a packet length that cannot be had."""
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
        """Return the link that is alike both ways; a rate without a queue has the usual one."""
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
            raise InvalidValue(f"link {quoted(text)}: {refused}") from None

    @classmethod
    def _read(cls, text: str) -> Self:
        first, *others = parts = [part.strip(" ") for part in text.split(",")]
        if not first:
            raise LinkTextError(f"it is empty; write rtt=40ms,rate=1gbit, a preset ({_names()}), or direct")
        base = cls()
        if "=" not in first:
            base, parts = cls._named(first), others
        given: dict[str, int] = {}
        for part in parts:
            key, value = key_value(part)
            if key in given:
                raise LinkTextError(f"{key} is given twice")
            given[key] = value
        if "rtt" in given:
            if given.keys() & {"delay", "up.delay", "down.delay"}:
                raise LinkTextError("say the distance once: rtt (both ways together), or delay (each way)")
            half = given["rtt"] // 2
            given |= {"up.delay": half, "down.delay": given["rtt"] - half}
        up, down = _over(base.up, given, "up"), _over(base.down, given, "down")
        for key, limited in (("up.", up), ("down.", down), ("", up if up.rate_bits_per_s else down)):
            if f"{key}queue" in given and limited.rate_bits_per_s is None:
                raise LinkTextError(
                    f"{key}queue needs a rate to wait for; add {key}rate=100mbit, or leave the queue out"
                )
        return cls(up, down, given.get("mtu", base.mtu_bytes))

    @classmethod
    def _named(cls, name: str) -> Self:
        if name == "direct":
            return cls()
        for preset in LINK_PRESETS:
            if preset.name == name:
                return cls._read(preset.spec)
        raise LinkTextError(f"there is no preset {quoted(name)}; there are direct, {_names()}; else write KEY=VALUE")

    @property
    def direct(self) -> bool:
        """Whether the link adds nothing."""
        return self == Link()

    @property
    def round_trip_ns(self) -> int:
        """The time of a round trip, as far as distance makes it."""
        return self.up.delay_ns + self.down.delay_ns

    def __str__(self) -> str:
        """Write the link as the command line and the records do: ``rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%``.

        One text for each link, which reads as the same link. A queue is always named, so that the text means the same
        when defaults change.
        """
        up, down = self.up, self.down
        if up.delay_ns == self.round_trip_ns // 2 and self.round_trip_ns <= HOUR_NS:
            parts = [f"rtt={written_time(self.round_trip_ns)}"] if self.round_trip_ns else []
        else:
            parts = one_or_each("delay", written_time(up.delay_ns or None), written_time(down.delay_ns or None))
        parts += one_or_each("rate", written_rate(up.rate_bits_per_s), written_rate(down.rate_bits_per_s))
        # A queue of both directions is one of those that have a rate.
        waits = [written_time(queue) for queue in (up.queue_ns, down.queue_ns)]
        parts += one_or_each("queue", waits[0] or waits[1], waits[1] or waits[0])
        parts += one_or_each("loss", written_loss(up.loss_billionths), written_loss(down.loss_billionths))
        if self.mtu_bytes != DEFAULT_MTU_BYTES:
            parts.append(f"mtu={self.mtu_bytes}")
        return ",".join(parts) or "direct"


def _over(path: LinkPath, given: dict[str, int], end: str) -> LinkPath:
    """Return the path that ``path`` becomes with what was given for both ends, and for this one, which goes before."""

    def value(key: str) -> int | None:
        return given.get(f"{end}.{key}", given.get(key))

    def first(*values: int | None) -> int | None:
        return next((value for value in values if value is not None), None)

    rate = first(value("rate"), path.rate_bits_per_s)
    queue = None if rate is None else first(value("queue"), path.queue_ns, DEFAULT_QUEUE_NS)
    loss, delay = value("loss"), value("delay")
    return LinkPath(
        path.delay_ns if delay is None else delay, rate, queue, path.loss if loss is None else loss / BILLION
    )


def _names() -> str:
    return ", ".join(preset.name for preset in LINK_PRESETS)
