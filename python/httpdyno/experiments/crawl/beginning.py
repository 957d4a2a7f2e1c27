"""Begins a crawl: who is measured, and on how many URLs."""

from collections.abc import Sequence

from httpdyno.errors import UsageError
from httpdyno.experiments.crawl.crawl import HEADLINE, NAME
from httpdyno.experiments.crawl.options import BenchOptions
from httpdyno.model import Subject, SubjectKind
from httpdyno.published import find_preset, parse_scale
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.source import QUICK_LIMIT

__all__ = ["choose_subjects"]


def choose_subjects(
    catalogue: Catalogue, names: Sequence[str] | None, options: BenchOptions
) -> tuple[tuple[Subject, ...], int | None]:
    """Choose subjects and a number of URLs: who is named, else the preset's, else the usual clients; or every client.

    Without a number all of a list are taken, or as many of a web as are taken without a word; for a first look few,
    unless it is said how many.

    Raises
    ------
    UnknownName
        If there is no such subject or preset.
    InvalidSubject
        If a named one could not be read.
    InvalidValue
        If the scale is no share of a whole.
    UsageError
        If there is a scale without a preset, or beside a limit; if every client is asked for beside names or a preset.
    """
    preset, scale, limit = options.preset, options.scale, options.limit
    if options.every and (names or preset is not None):
        raise UsageError(f"--all: {'a SUBJECT' if names else '--preset'} says who is measured, too; give one of them")
    if preset is None and scale is not None:
        raise UsageError("--scale: there is nothing to take a share of; give a --preset, too, or --limit instead")
    if scale is not None and limit is not None:
        raise UsageError("--limit: --scale says how many URLs, too; leave one of the two out")
    if limit is None and options.quick and scale is None:
        limit = QUICK_LIMIT
    if options.every:
        return catalogue.of_kind(SubjectKind.CLIENT), limit
    named = catalogue.select_of_kind(names or (), SubjectKind.CLIENT)
    if preset is None:
        return named or catalogue.usual(HEADLINE), limit
    found = find_preset(preset, NAME)
    there = [name for name in found.subjects if name in catalogue.subjects]
    subjects = named or catalogue.select_of_kind(there, SubjectKind.CLIENT)
    share = parse_scale(scale or "1")
    return found.with_concurrency(subjects), found.scaled_urls(share) if limit is None else limit
