"""The answer of a capacity run in one sentence: up to where a subject holds the rate, and who reaches further."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from httpdyno.experiments.capacity.found import Found, target_words
from httpdyno.experiments.capacity.frontier_point import Frontier, FrontierPoint
from httpdyno.experiments.capacity.grid_axis import AXES, FRONTIER_AXES, LINK_RATE, SIZE
from httpdyno.experiments.capacity.judge.foreseen import LimitKind
from httpdyno.experiments.capacity.quantity import shown_size
from httpdyno.experiments.capacity.reach import size_reached
from httpdyno.judge.wording import listed, some_of
from httpdyno.model import Tone

__all__ = ["capacity_headline"]

_OF_THE_POINT: Final = frozenset({LimitKind.BANDWIDTH, LimitKind.WINDOW, LimitKind.CPU, LimitKind.CONCURRENCY})
"""What can limit a subject; an origin or a link that came to its end limits the measurement."""


def capacity_headline(points: Sequence[Found], frontiers: Sequence[Frontier], names: Mapping[str, str]) -> str:
    """Describe in one sentence, without a full stop, up to where the subjects hold the rate.

    There are no ``frontiers`` where sizes were not varied. ``names`` maps ids of subjects to their names.
    """
    if not points:
        return "Nothing was measured: the run has no finished trial"
    target = target_words(points)
    if not target:
        return f"{len(points)} points were measured; no rate was asked for, so none is held"
    if frontiers:
        groups = _by_setting(frontiers)
        told = max(groups, key=_apart)
        shared = _shared(points, told[0])
        said = (_compared if len(told) > 1 else _reach)(told, target, names, f" ({shared})" if shared else "")
        return said + _elsewhere(len(groups) - 1)
    return "; ".join(_counted(points, subject, target, name) for subject, name in names.items())


def _by_setting(frontiers: Sequence[Frontier]) -> list[list[Frontier]]:
    """Put together what was varied along the same axis with all else alike."""
    settings = dict.fromkeys((one.axis, one.rest) for one in frontiers)
    return [[one for one in frontiers if (one.axis, one.rest) == setting] for setting in settings]


def _elsewhere(settings: int) -> str:
    return f"; the tables have {settings} more setting{'s' if settings > 1 else ''}" if settings else ""


def _apart(group: Sequence[Frontier]) -> float:
    """Return how far the subjects of one setting are apart where they differ most; of one subject, how far it gets."""
    return max((_spread([_at(one, x) for one in group]) for x in _common(group)), default=0.0)


def _common(group: Sequence[Frontier]) -> set[int]:
    return set.intersection(*({point.x for point in one.points} for one in group))


def _shared(points: Sequence[Found], frontier: Frontier) -> str:
    """Name what all points have in common, beside their place along the frontier."""
    others = [axis for axis in AXES if axis not in {SIZE, FRONTIER_AXES[frontier.axis]}]
    values = [(axis, axis.values(one.point for one in points)) for axis in others]
    return ", ".join(axis.name(of[0]) for axis, of in values if len(of) == 1 and of[0])


def _reach(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], shared: str) -> str:
    """Describe of one subject how far it reaches where that is easiest, and where it is hardest."""
    first = frontiers[0]
    known = [point for point in first.points if size_reached(point) is not None]
    who, axis = names[first.subject], FRONTIER_AXES[first.axis]
    rest = (f", {first.rest}" if first.rest else "") + shared
    if not known:
        return f"{who} does not hold {target} at any size that was tried{rest}"
    easiest = max(known, key=_reached)
    hardest = min(known, key=_reached)
    ends = [axis.name(point.x) for point in (first.points[0], first.points[-1])]
    everywhere = len({_size(point) for point in first.points}) == 1 and ends[0] != ends[1]
    where = f"from {ends[0]} to {ends[1]}" if everywhere else f"at {axis.name(easiest.x)}"
    said = f"{who} holds {target} up to {_size(easiest)} {where}"
    if _reached(hardest) != _reached(easiest):
        said += f", up to {_size(hardest)} at {axis.name(hardest.x)}"
    nowhere = [
        axis.name(point.x) for point in first.points if point.fails_from_bytes is not None and point.size_bytes is None
    ]
    if nowhere:
        said += f", and nothing that was tried at {some_of(nowhere)}"
    return said + rest


def _compared(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], shared: str) -> str:
    """Compare the subjects where they differ most; those whose intervals overlap there are a tie, and called so."""
    first = frontiers[0]
    common = _common(frontiers)
    if not common:
        return "; ".join(_reach([one], target, names, shared) for one in frontiers)
    at = max(sorted(common), key=lambda x: _spread([_at(one, x) for one in frontiers]))
    order = sorted(frontiers, key=lambda one: -_reached(_at(one, at)))
    reached = [f"{names[one.subject]} up to {_size(_at(one, at))}" for one in order if _reached(_at(one, at)) >= 0]
    without = [names[one.subject] for one in order if _reached(_at(one, at)) < 0]
    where = FRONTIER_AXES[first.axis].name(at) + (f", {first.rest}" if first.rest else "") + shared
    nothing = f"; {listed(without)} at no size that was tried" if without else ""
    if not reached:
        return f"At {where}, {target} were not held at any size that was tried"
    return f"At {where}, {target} are held by {listed(reached)}{nothing}{_ties(order, at, names)}"


def _ties(order: Sequence[Frontier], at: int, names: Mapping[str, str]) -> str:
    """Name the pairs whose difference may be chance; without names where that is every pair."""
    pairs = list(combinations(order, 2))
    tied = [(one, other) for one, other in pairs if _overlap(_at(one, at), _at(other, at))]
    if not tied:
        return ""
    if len(tied) == len(pairs):
        return "; the difference may be chance" if len(order) == 2 else "; the differences may be chance"
    pairs_named = some_of([f"{names[one.subject]} and {names[other.subject]}" for one, other in tied])
    return f"; between {pairs_named} the difference may be chance"


def _counted(points: Sequence[Found], subject: str, target: str, name: str) -> str:
    """Return at how many points a subject holds, from which rate of the link on, and what limits the others."""
    own = [one for one in points if one.subject == subject]
    held = [one for one in own if one.holds]
    parts = [f"{name} holds {target} at {len(held)} of {len(own)} points"]
    least = _least_rate(own, held)
    if least:
        parts.append(least)
    failed = [one for one in own if not one.holds and one.tone is not Tone.UNKNOWN]
    limits = Counter(one.limit for one in failed if one.limit in _OF_THE_POINT)
    if limits:
        most, count = limits.most_common(1)[0]
        parts.append(f"{most} limits {count} of the others")
    unknown = sum(one.tone is Tone.UNKNOWN for one in own)
    if unknown:
        parts.append(f"{unknown} cannot be believed")
    return ", ".join(parts)


def _least_rate(own: Sequence[Found], held: Sequence[Found]) -> str:
    rates = [rate for rate in LINK_RATE.values(one.point for one in own) if rate is not None]
    holding = [one.point.rate_bits_per_s for one in held if one.point.rate_bits_per_s is not None]
    return f"with {LINK_RATE.name(min(holding))} or more" if len(rates) > 1 and holding else ""


def _at(frontier: Frontier, x: int) -> FrontierPoint:
    return next(point for point in frontier.points if point.x == x)


def _reached(point: FrontierPoint) -> int:
    size = size_reached(point)
    return -1 if size is None else size


def _spread(points: Sequence[FrontierPoint]) -> float:
    sizes = [_reached(point) for point in points]
    return (max(sizes) + 1) / (min(sizes) + 2)


def _overlap(one: FrontierPoint, other: FrontierPoint) -> bool:
    """Return whether the boundary of both may be the same."""
    ends = [(point.holds_up_to_bytes or 0, point.fails_from_bytes) for point in (one, other)]
    low = max(start for start, _ in ends)
    return all(end is None or low < end for _, end in ends)


def _size(point: FrontierPoint) -> str:
    """Write what is reached, with its doubt: ``300 KiB``, ``400 KiB or more``, ``300 KiB (surely 250 KiB)``."""
    reached = size_reached(point) or 0
    size = shown_size(reached)
    if point.fails_from_bytes is None:
        return f"{size} or more"
    if point.doubtful and point.holds_up_to_bytes is not None and point.holds_up_to_bytes < reached:
        return f"{size} (surely {shown_size(point.holds_up_to_bytes)})"
    return size
