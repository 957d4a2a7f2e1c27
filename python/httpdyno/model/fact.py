"""A fact of this machine: what was found, how well it serves, what follows and what would help."""

from dataclasses import dataclass
from enum import StrEnum

from httpdyno.errors import InvalidValue

__all__ = ["Fact", "Fitness"]


class Fitness(StrEnum):
    """How well something serves: in the words of the engine."""

    YES = "yes"
    LIMITED = "limited"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a room or a measurement may need."""

    name: str
    value: bool | int | float | str | list[str] | None
    """What was found; None when the machine does not tell."""
    ok: Fitness
    consequence: str | None = None
    cure: str | None = None

    def __post_init__(self) -> None:
        """Refuse a bad fact that leaves people alone with it."""
        if self.ok is not Fitness.YES and not (self.consequence and self.cure):
            raise InvalidValue(f"fact {self.name}: {self.ok}, but without a consequence and a cure")
