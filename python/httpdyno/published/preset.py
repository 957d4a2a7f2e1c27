"""Presets: what a run has to be for its figures to stand beside published ones."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.model import Subject
from httpdyno.published.catalogue import published_tables
from httpdyno.published.table import PublishedTable

__all__ = ["Preset", "find_preset", "parse_scale", "preset_names"]

_SHARE: Final = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})?|[0-9]{0,9}\.[0-9]{1,9}")
_CONCURRENCY: Final = "concurrency"


@dataclass(frozen=True, slots=True)
class Preset:
    """One experiment as it was published."""

    table: PublishedTable

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that have published figures, in the published order; not all of them need to exist."""
        return tuple(dict.fromkeys(row.subject for row in self.table.rows if row.subject))

    @property
    def concurrency(self) -> Mapping[str, int]:
        """How many requests each subject had in flight, by its id; empty when that was not published."""
        found = ((row.subject, self.table.cells(row).get(_CONCURRENCY)) for row in self.table.rows)
        return {subject: value for subject, value in found if subject and isinstance(value, int)}

    def urls(self, scale: Fraction = Fraction(1)) -> int | None:
        """How many URLs each subject was given, scaled and at least one; None when that was not published."""
        urls = self.table.circumstances.workload.urls
        return None if urls is None else max(1, round(urls * scale))

    def applied(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """Set the concurrency of the subjects that they were published with; one without keeps its own."""
        return tuple(
            replace(subject, concurrency=self.concurrency.get(subject.id, subject.concurrency)) for subject in subjects
        )


def preset_names(experiment: str) -> tuple[str, ...]:
    """List the presets of an experiment."""
    return tuple(sorted(table.preset for table in published_tables(experiment) if table.preset))


def find_preset(name: str, experiment: str) -> Preset:
    """Return the preset of that name.

    Raises
    ------
    UnknownName
        If the experiment has none of that name; the message lists those that it has.
    """
    for table in published_tables(experiment):
        if table.preset and table.preset == name:
            return Preset(table)
    known = ", ".join(preset_names(experiment)) or "none"
    raise UnknownName(f"--preset: {experiment} has no preset {name!r}; known are: {known}")


def parse_scale(text: str) -> Fraction:
    """Read what share of a preset is wanted: ``1/10``, ``0.1`` or ``1``.

    Raises
    ------
    InvalidValue
        If it is no number above 0 and at most 1.
    """
    try:
        # Fraction reads 1e999999999, too, and would still be computing it tomorrow.
        scale = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else Fraction(0)
    except ZeroDivisionError:
        scale = Fraction(0)
    if not 0 < scale <= 1:
        raise InvalidValue(f"--scale: {text!r} is no share of a whole; write it like 1/10, above 0 and at most 1")
    return scale
