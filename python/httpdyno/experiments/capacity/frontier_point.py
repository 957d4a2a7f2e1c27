"""How far a subject reaches: the largest answers that it holds at each value of an axis."""

from dataclasses import dataclass
from enum import StrEnum

from httpdyno.errors import InvalidValue

__all__ = ["Frontier", "FrontierAxis", "FrontierPoint"]


class FrontierAxis(StrEnum):
    """What is varied beside the size of answers; the values are the names of columns."""

    ROUND_TRIP = "rtt"
    """Round-trip time of the link in nanoseconds: more is harder."""
    LINK_RATE = "linkRate"
    """Rate of the link towards the subject in bits a second: more is easier."""
    DELAY = "delay"
    """How long the origin server waits before it answers, in nanoseconds: more is harder."""
    CONCURRENCY = "concurrency"
    """Requests in flight at most: more is easier, up to where a subject breaks down."""

    @property
    def harder_upwards(self) -> bool:
        """Whether larger values leave less room for large answers."""
        return self in {FrontierAxis.ROUND_TRIP, FrontierAxis.DELAY}

    @property
    def ordered(self) -> bool:
        """Whether that is beyond doubt: more requests in flight can also be too many."""
        return self is not FrontierAxis.CONCURRENCY


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The boundary at one value of the axis."""

    x: int
    """Value of the axis, in its unit."""
    size_bytes: int | None
    """The largest size that holds, more likely than any other, and was seen to; None: there is none."""
    holds_up_to_bytes: int | None
    """The largest size that surely holds; None: none does for sure."""
    fails_from_bytes: int | None
    """The smallest size that surely fails, as was seen or follows from the link; None: none does for sure."""
    level: float
    """The chance that the boundary lies between those two."""
    trials: int
    """Trials at this value: the boundary may follow from those of its neighbours."""
    doubtful: bool
    """Whether sizes lie between the two, of which nobody knows."""

    def __post_init__(self) -> None:
        """Refuse bounds that are the wrong way round."""
        low, high = self.holds_up_to_bytes, self.fails_from_bytes
        if low is not None and high is not None and low >= high:
            raise InvalidValue(f"frontier: what fails, {high} bytes, is not larger than what holds, {low} bytes")


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far one subject reaches along one axis, everything else the same."""

    subject: str
    axis: FrontierAxis
    rest: str
    """The values of the other axes, as they stand in the name of a condition; empty when they have one each."""
    points: tuple[FrontierPoint, ...]
    """In the order of the axis."""
    trials: int
    grid_trials: int
    """Trials of the grid that would give the same boundary, one for each of its points."""
    contradictions: tuple[str, ...] = ()
    """What was seen, more than once, against the order of the axis; one line each."""
    exhausted: bool = False
    """Whether its budget ended the search, while boundaries were in doubt."""
