"""What differs between a publication and a run, in sentences: without them the two are not to be compared."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from httpdyno.model import Note
from httpdyno.published.join import Pair, figures_ratio
from httpdyno.published.table import Circumstances, PublishedColumn, PublishedTable, Role

__all__ = ["notes_beside"]


def notes_beside(joined: Sequence[Pair], published: PublishedTable, here: Circumstances) -> tuple[Note, ...]:
    """List what has to be known before two figures are compared, a line each; what is the same is not mentioned."""
    there = published.circumstances
    both = [pair for pair in joined if pair.measured and pair.published]
    lines = [
        f"published: {published.source}",
        *_missing(joined),
        *_order(both, published),
        *_told("machine", there.machine, here.machine),
        *_told("web", there.web, here.web),
        *(f"web {name}: {published.fitted[name]}" for name in here.web_names if name in published.fitted),
        *(line for column in published.of_role(Role.SETTING) for line in _setting(both, column.name, published)),
        *_time("timeout", there.timeout_s, here.timeout_s),
        *_time("deadline", there.deadline_s, here.deadline_s),
        *_versions(both, published, here),
        *(f"{absent['name']}: {absent['reason']}" for absent in published.unpublished),
        *(f"published figures: {remark}" for remark in published.remarks),
    ]
    return tuple(map(Note, lines))


def _missing(joined: Sequence[Pair]) -> Iterator[str]:
    published_only = dict.fromkeys(pair.name for pair in joined if not pair.measured)
    measured_only = dict.fromkeys(pair.name for pair in joined if not pair.published)
    if published_only:
        yield f"not measured here: {', '.join(published_only)}"
    if measured_only:
        yield f"not published: {', '.join(measured_only)}"


def _order(both: Sequence[Pair], published: PublishedTable) -> Iterator[str]:
    """Count the pairs of subjects that stand in the published order: neither scale nor machine touches that."""
    same = compared = 0
    for column in (column for column in published.columns if column.name == published.ordered_by):
        for one, other in combinations(both, 2):
            first, second = _figures(one, column), _figures(other, column)
            if one.condition == other.condition and first and second and first[0] != second[0]:
                compared += 1
                same += (first[0] < second[0]) == (first[1] < second[1])
    if compared:
        order = f"order by {published.ordered_by}"
        yield f"{order}: {same} of {compared} pairs stand as published (medians, without their doubt)"


def _figures(pair: Pair, column: PublishedColumn) -> tuple[float, float] | None:
    """Return the published figure, and the measured one at the published scale; None without both."""
    ratio, figure = figures_ratio(pair, column), pair.published[column.name]
    return None if ratio is None or not isinstance(figure, int | float) else (figure, figure * ratio)


def _told(name: str, there: str, here: str) -> Iterator[str]:
    if there and here and there != here:
        yield f"{name}: published: {there}; measured: {here}"


def _setting(both: Sequence[Pair], name: str, published: PublishedTable) -> Iterator[str]:
    """Describe where a setting differs, and which figures are set off against it."""
    other = [pair for pair in both if pair.measured.get(name) not in {None, pair.published[name]}]
    if not other:
        return
    told = [f"published {pair.published[name]}, measured {pair.measured[name]}" for pair in other]
    if len(set(told)) > 1 or len(other) < len(both):
        told = ["; ".join(f"{pair.name} {one}" for pair, one in zip(other, told, strict=True))]
    per = [figure.name for figure in published.columns if figure.per == name]
    yield f"{name}: {told[0]}" + (f"; ratios of {', '.join(per)} are per {name}" if per else "")
    if per and published.scaled_remark:
        yield published.scaled_remark


def _time(name: str, published: float | None, measured: float | None) -> Iterator[str]:
    if published is not None and measured is not None and published != measured:
        yield f"{name}: published {published:g} s, measured {measured:g} s"


def _versions(both: Sequence[Pair], published: PublishedTable, here: Circumstances) -> Iterator[str]:
    there = published.circumstances.versions
    names = dict.fromkeys((pair.subject, pair.name) for pair in both)
    told = [
        f"{name} {there.get(subject, 'unknown')}, here {here.versions.get(subject, 'unknown')}"
        for subject, name in names
        if there.get(subject) != here.versions.get(subject)
    ]
    if told:
        origin = f" (published: {published.versions_from})" if published.versions_from else ""
        yield f"versions: {'; '.join(told)}{origin}"
