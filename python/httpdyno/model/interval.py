"""An estimate with its doubt: the word that every comparison and every ranking is made of."""

from dataclasses import dataclass

from httpdyno.errors import InvalidValue

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A point and the stretch that covers the truth with a stated confidence."""

    estimate: float
    low: float
    high: float
    level: float
    """Confidence that was attained, between 0 and 1: with few values it can be less than what was asked for."""

    def __post_init__(self) -> None:
        """Refuse an interval that does not hold its own estimate."""
        if not self.low <= self.estimate <= self.high:
            raise InvalidValue(f"interval: {self.low} to {self.high} does not hold {self.estimate}")
        if not 0 < self.level < 1:
            raise InvalidValue(f"interval: a level is between 0 and 1, not {self.level}")
