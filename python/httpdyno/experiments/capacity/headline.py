"""The headline of a capacity run: how far each subject holds the rate, in one sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Final

from httpdyno.experiments.capacity.axes import LINK_RATE, SIZE, shown_size
from httpdyno.experiments.capacity.frontier import Frontier, FrontierPoint
from httpdyno.experiments.capacity.limits import LimitKind
from httpdyno.experiments.capacity.points import PointResult, shared_settings, target_words
from httpdyno.judge.wording import listed, some_of
from httpdyno.model import Tone

_SUBJECT_LIMITS: Final = frozenset({LimitKind.BANDWIDTH, LimitKind.WINDOW, LimitKind.CPU, LimitKind.CONCURRENCY})
"""Limits of a subject; an exhausted origin or link limits the measurement instead."""


def capacity_headline(points: Sequence[PointResult], frontiers: Sequence[Frontier], names: Mapping[str, str]) -> str:
    """Return one sentence, without a full stop: the largest sizes at which the subjects hold the rate.

    ``frontiers`` is empty if sizes were not varied. ``names`` maps ids of subjects to their names.
    """
    if not points:
        return "Nothing was measured: the run has no finished trial"
    target = target_words(points)
    if not target:
        return f"{len(points)} points were measured, without a target rate"
    if not frontiers:
        return "; ".join(_count_points(points, subject, target, name) for subject, name in names.items())
    groups: dict[str, list[Frontier]] = {}
    for one in frontiers:
        groups.setdefault(one.rest, []).append(one)
    rest, widest = max(groups.items(), key=lambda group: _widest_difference(group[1])[0])
    shared = shared_settings([one.point for one in points], {SIZE, frontiers[0].axis})
    where = (f", {rest}" if rest else "") + (f" ({shared})" if shared else "")
    more = len(groups) - 1
    elsewhere = f"; the tables have {more} more setting{'s' if more > 1 else ''}" if more else ""
    describe = _compare_subjects if len(widest) > 1 else _describe_one
    return describe(widest, target, names, where) + elsewhere


def _reached(point: FrontierPoint) -> int:
    size = point.reached
    return -1 if size is None else size


def _widest_difference(group: Sequence[Frontier]) -> tuple[float, int]:
    """Return the largest ratio between the subjects of one setting, and the index of its point.

    For one subject, the ratio is the size that it reaches.
    """
    sizes = [[_reached(point) for point in points] for points in zip(*(one.points for one in group), strict=True)]
    ratios = [(max(of) + 1) / (min(of) + 2) for of in sizes]
    return max(ratios), ratios.index(max(ratios))


def _describe_one(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], where: str) -> str:
    """Describe the sizes that one subject holds at the easiest and at the hardest value of the axis."""
    (first,) = frontiers
    known = [point for point in first.points if point.reached is not None]
    name, axis = names[first.subject], first.axis
    if not known:
        return f"{name} does not hold {target} at any measured size{where}"
    easiest, hardest = max(known, key=_reached), min(known, key=_reached)
    ends = [axis.name(point.x) for point in (first.points[0], first.points[-1])]
    everywhere = len({_size(point) for point in first.points}) == 1 and ends[0] != ends[1]
    along = f"from {ends[0]} to {ends[1]}" if everywhere else f"at {axis.name(easiest.x)}"
    sentence = f"{name} holds {target} up to {_size(easiest)} {along}"
    if _reached(hardest) != _reached(easiest):
        sentence += f", up to {_size(hardest)} at {axis.name(hardest.x)}"
    nowhere = [axis.name(point.x) for point in first.points if point.fails_from is not None and point.held is None]
    if nowhere:
        sentence += f", and no measured size at {some_of(nowhere)}"
    return sentence + where


def _compare_subjects(frontiers: Sequence[Frontier], target: str, names: Mapping[str, str], where: str) -> str:
    """Compare the subjects where they differ most; subjects whose intervals overlap there are a tie."""
    _, index = _widest_difference(frontiers)
    here = {names[one.subject]: one.points[index] for one in frontiers}
    here = dict(sorted(here.items(), key=lambda one: -_reached(one[1])))
    reached = [f"{name} up to {_size(point)}" for name, point in here.items() if _reached(point) >= 0]
    without = [name for name, point in here.items() if _reached(point) < 0]
    place = f"At {frontiers[0].axis.name(frontiers[0].points[index].x)}{where}"
    if not reached:
        return f"{place}, {target} were not held at any measured size"
    nothing = f"; {listed(without)} at no measured size" if without else ""
    return f"{place}, {target} are held by {listed(reached)}{nothing}{_name_ties(here)}"


def _name_ties(here: Mapping[str, FrontierPoint]) -> str:
    """Name the pairs whose difference may be chance; without names if every pair is tied."""
    pairs = list(combinations(here, 2))
    # Boundaries may be the same where their intervals overlap.
    starts = {name: point.holds_up_to or 0 for name, point in here.items()}
    ends = {name: inf if (end := point.fails_from) is None else end for name, point in here.items()}
    tied = [
        f"{one} and {other}" for one, other in pairs if max(starts[one], starts[other]) < min(ends[one], ends[other])
    ]
    if not tied:
        return ""
    if len(tied) == len(pairs):
        return f"; the difference{'' if len(pairs) == 1 else 's'} may be chance"
    return f"; between {some_of(tied)} the difference may be chance"


def _count_points(points: Sequence[PointResult], subject: str, target: str, name: str) -> str:
    """Return how many points a subject holds, the least rate of the link that suffices, and the limit of the others."""
    own = [one for one in points if one.subject == subject]
    held = [one for one in own if one.tone is Tone.HELD]
    parts = [f"{name} holds {target} at {len(held)} of {len(own)} points"]
    rates = {one.point.rate_bits_per_s for one in own} - {None}
    holding = [one.point.rate_bits_per_s for one in held if one.point.rate_bits_per_s is not None]
    if len(rates) > 1 and holding:
        parts.append(f"with {LINK_RATE.name(min(holding))} or more")
    failed = [one for one in own if one.tone not in {Tone.HELD, Tone.UNKNOWN}]
    limits = Counter(one.limit for one in failed if one.limit in _SUBJECT_LIMITS)
    if limits:
        most, count = limits.most_common(1)[0]
        parts.append(f"{most} limits {count} of the others")
    unknown = sum(one.tone is Tone.UNKNOWN for one in own)
    if unknown:
        parts.append(f"{unknown} are unreliable" if unknown > 1 else "1 is unreliable")
    return ", ".join(parts)


def _size(point: FrontierPoint) -> str:
    """Format the size reached, with its doubt: ``300 KiB``, ``400 KiB or more``, ``300 KiB (surely 250 KiB)``."""
    reached = point.reached or 0
    size = shown_size(reached)
    if point.fails_from is None:
        return f"{size} or more"
    if point.doubtful and point.holds_up_to is not None and point.holds_up_to < reached:
        return f"{size} (surely {shown_size(point.holds_up_to)})"
    return size
