"""What differs between a publication and a run, in sentences: without them the two are not to be compared."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from httpdyno.published.pairs import Pair, figures_ratio
from httpdyno.published.table import Circumstances, PublishedColumn, PublishedTable, Role

__all__ = ["differences"]


def differences(joined: Sequence[Pair], published: PublishedTable, here: Circumstances) -> tuple[str, ...]:
    """Describe what has to be known before two figures are compared, a line each; what is the same is not mentioned.

    Parameters
    ----------
    joined : sequence of Pair
        Of both tables.
    published : PublishedTable
        The publication.
    here : Circumstances
        Of the run.
    """
    there = published.circumstances
    both = [pair for pair in joined if pair.measured and pair.published]
    lines = [
        f"published: {published.source}",
        *_missing(joined),
        *_order(both, published),
        *_told("machine", there.machine, here.machine),
        *_told("web", there.web, here.web),
        *(f"web {name}: {published.fitted[name]}" for name in here.web_names if name in published.fitted),
    ]
    for column in published.of_role(Role.SETTING):
        lines += _setting(both, column, published)
    lines += _times(there, here)
    lines += _versions(both, published, here)
    lines += [f"{absent.name}: {absent.reason}" for absent in published.unpublished]
    return (*lines, *(f"published figures: {remark}" for remark in published.remarks))


def _missing(joined: Sequence[Pair]) -> Iterator[str]:
    published_only = dict.fromkeys(pair.name for pair in joined if not pair.measured)
    measured_only = dict.fromkeys(pair.name for pair in joined if not pair.published)
    if published_only:
        yield f"not measured here: {', '.join(published_only)}"
    if measured_only:
        yield f"not published: {', '.join(measured_only)}"


def _order(both: Sequence[Pair], published: PublishedTable) -> Iterator[str]:
    """Count the pairs of subjects that stand in the published order: neither scale nor machine touches that."""
    column = next((column for column in published.columns if column.name == published.ordered_by), None)
    if column is None:
        return
    same = compared = 0
    for one, other in combinations(both, 2):
        first, second = _figures(one, column), _figures(other, column)
        if one.condition == other.condition and first and second and first[0] != second[0]:
            compared += 1
            same += (first[0] < second[0]) == (first[1] < second[1])
    if compared:
        yield f"order by {column.name}: {same} of {compared} pairs stand as published (medians, without their doubt)"


def _figures(pair: Pair, column: PublishedColumn) -> tuple[float, float] | None:
    """Return the published figure, and the measured one at the published scale; None without both."""
    ratio, figure = figures_ratio(pair, column), pair.published[column.name]
    return None if ratio is None or not isinstance(figure, int | float) else (figure, figure * ratio)


def _told(name: str, there: str, here: str) -> Iterator[str]:
    if there and here and there != here:
        yield f"{name}: published: {there}; measured: {here}"


def _setting(both: Sequence[Pair], column: PublishedColumn, published: PublishedTable) -> Iterator[str]:
    """Describe where a setting differs, and which figures are set off against it."""
    name = column.name
    other = [pair for pair in both if pair.measured.get(name) not in {None, pair.published[name]}]
    if not other:
        return
    choices = {(pair.published[name], pair.measured[name]) for pair in other}
    if len(choices) == 1 and len(other) == len(both):
        ((there, here),) = choices
        told = f"published {there}, measured {here}"
    else:
        told = "; ".join(
            f"{pair.name} published {pair.published[name]}, measured {pair.measured[name]}" for pair in other
        )
    per = [figure.name for figure in published.columns if figure.per == name]
    yield f"{name}: {told}" + (f"; ratios of {', '.join(per)} are per {name}" if per else "")
    if per and published.scaled_remark:
        yield published.scaled_remark


def _times(there: Circumstances, here: Circumstances) -> Iterator[str]:
    timeouts, deadlines = [
        (getattr(there.workload, name), getattr(here.workload, name)) for name in ("timeout_s", "deadline_s")
    ]
    for name, (published, measured) in (("timeout", timeouts), ("deadline", deadlines)):
        if None not in (published, measured) and published != measured:
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
