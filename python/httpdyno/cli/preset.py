"""``--preset`` and ``--scale``: who is measured, on how many URLs, and how the result stands beside the publication."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.cli.output import print_table
from httpdyno.cli.terminal import reader_may_leave
from httpdyno.errors import UsageError
from httpdyno.experiments.crawl import HEADLINE
from httpdyno.experiments.pending import PendingRun
from httpdyno.experiments.published import PRESET_SETTING, run_beside
from httpdyno.model import Subject, SubjectKind, Table
from httpdyno.published import Preset, find_preset, in_published_form, parse_scale
from httpdyno.store import open_run
from httpdyno.subjects.catalogue import Catalogue

__all__ = ["Selection", "print_result", "read_by_programs", "select", "selected_before"]

_NO_SUBJECT: Final = "httpdyno has no such subject"
_FOR_PROGRAMS: Final = frozenset({"csv", "json"})


@dataclass(frozen=True, slots=True)
class Selection:
    """Who is measured, and on how many URLs."""

    subjects: tuple[Subject, ...]
    limit: int | None
    """None: all of a list, or as many of a web as are taken without a word."""
    preset: Preset | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    """Subjects of the preset that do not exist here, and what the table says of them."""


def select(
    catalogue: Catalogue,
    names: Sequence[str] | None,
    experiment: str,
    *,
    preset: str | None = None,
    scale: str | None = None,
    limit: int | None = None,
    quick: bool = False,
    every: bool = False,
) -> Selection:
    """Choose subjects and URLs: those that are named, else the preset's, else the usual clients; or every client.

    A first look (``quick``) at a preset takes the URLs of a first look, unless it is told how many.

    Raises
    ------
    UnknownName
        If there is no such subject, or the experiment has no such preset.
    InvalidSubject
        If a named one could not be read.
    InvalidValue
        If the scale is no share of a whole.
    UsageError
        If there is a scale without a preset, or beside a limit; if ``every`` contradicts names or a preset.
    """
    if every and (names or preset is not None):
        raise UsageError(f"--all: {'a SUBJECT' if names else '--preset'} says who is measured, too; give one of them")
    if preset is None:
        if scale is not None:
            raise UsageError("--scale: there is nothing to take a share of; give a --preset, too, or --limit instead")
        if every:
            return Selection(catalogue.of_kind(SubjectKind.CLIENT), limit)
        named = catalogue.select_of_kind(names or (), SubjectKind.CLIENT)
        return Selection(named or catalogue.usual(HEADLINE), limit)
    if scale is not None and limit is not None:
        raise UsageError("--scale and --limit both say how many URLs; give one of them")
    found = find_preset(preset, experiment)
    share = parse_scale(scale or "1")
    if limit is None and not (quick and scale is None):
        limit = found.urls(share)
    there = [name for name in found.subjects if name in catalogue.subjects]
    subjects = found.applied(catalogue.select_of_kind(names or there, SubjectKind.CLIENT))
    return Selection(subjects, limit, found, {} if names else _absent(found, catalogue))


def selected_before(run: PendingRun, catalogue: Catalogue) -> Selection:
    """Give what a run was begun with, to show its result in the same way.

    Raises
    ------
    UnknownName
        If it was of a preset that there is no more.
    """
    name = run.manifest.settings.get(PRESET_SETTING) if run.manifest else None
    if not isinstance(name, str):
        return Selection(run.subjects, None)
    found = find_preset(name, run.experiment.name)
    there = {name for name in found.subjects if name in catalogue.subjects}
    whole = {subject.id for subject in run.subjects} == there
    return Selection(run.subjects, None, found, _absent(found, catalogue) if whole else {})


def _absent(found: Preset, catalogue: Catalogue) -> dict[str, str]:
    missing = [name for name in found.subjects if name not in catalogue.subjects]
    reasons = {name: catalogue.invalid[name].line for name in missing if name in catalogue.invalid}
    return {name: f"unavailable: {reasons.get(name, _NO_SUBJECT)}" for name in missing}


def print_result(selection: Selection, measured: Table, folder: Path | None, format_name: str) -> None:
    """Print what was measured: of a preset in the published form, then beside the published figures.

    Programs get one table, in which each row has both.

    Parameters
    ----------
    selection : Selection
        Who was measured.
    measured : Table
        The experiment's own table, printed when there is no preset.
    folder : Path, optional
        The run.
    format_name : str
        One of ``report.format_names``.
    """
    if selection.preset is None or folder is None:
        print_table(measured, format_name)
        return
    published, run = selection.preset.table, open_run(folder)
    if read_by_programs(format_name):
        print_table(run_beside(run, published, for_programs=True), format_name)
        return
    print_table(in_published_form(measured, published, selection.absent), format_name)
    with reader_may_leave():
        sys.stdout.write("\n")
    print_table(run_beside(run, published), format_name)


def read_by_programs(format_name: str) -> bool:
    """Tell whether a format is read by programs, for which a result is one table."""
    return format_name in _FOR_PROGRAMS
