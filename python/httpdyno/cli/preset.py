"""``--preset`` and ``--scale``: who is measured, and on how many URLs."""

from collections.abc import Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.crawl.crawl import HEADLINE
from httpdyno.experiments.published import preset_of
from httpdyno.model import Subject, SubjectKind
from httpdyno.published import find_preset, parse_scale
from httpdyno.store import Run
from httpdyno.subjects.catalogue import Catalogue, read_catalogue

__all__ = ["absent_subjects", "select"]

_NO_SUBJECT: Final = "httpdyno has no such subject"


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
) -> tuple[tuple[Subject, ...], int | None]:
    """Choose subjects and a number of URLs: who is named, else the preset's, else the usual clients; or every client.

    Without a number all of a list are taken, or as many of a web as are taken without a word. A first look (``quick``)
    at a preset takes the URLs of a first look, unless it is told how many.

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
            return catalogue.of_kind(SubjectKind.CLIENT), limit
        named = catalogue.select_of_kind(names or (), SubjectKind.CLIENT)
        return named or catalogue.usual(HEADLINE), limit
    if scale is not None and limit is not None:
        raise UsageError("--limit: --scale says how many URLs, too; leave one of the two out")
    found = find_preset(preset, experiment)
    share = parse_scale(scale or "1")
    if limit is None and not (quick and scale is None):
        limit = found.scaled_urls(share)
    there = [name for name in found.subjects if name in catalogue.subjects]
    return found.with_concurrency(catalogue.select_of_kind(names or there, SubjectKind.CLIENT)), limit


def absent_subjects(run: Run) -> dict[str, str]:
    """Describe of a preset's subjects which of them do not exist here, and why; of none when others were named.

    Raises
    ------
    UnknownName
        If this version does not know the preset of the run.
    """
    published = preset_of(run.manifest)
    measured = {subject.id for subject in run.manifest.subjects}
    missing = [name for name in published.subjects if name not in measured] if published else []
    catalogue = read_catalogue(()) if missing else None
    if catalogue is None or any(name in catalogue.subjects for name in missing):
        return {}
    reasons = {name: catalogue.invalid[name].line for name in missing if name in catalogue.invalid}
    return {name: f"unavailable: {reasons.get(name, _NO_SUBJECT)}" for name in missing}
