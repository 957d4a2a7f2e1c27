"""Shell completion of subjects, webs and formats. Reads names of folders only."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import typer

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.options import LINKS, WEBS
from httpdyno.model import Direction, SubjectKind
from httpdyno.report.formats import format_names
from httpdyno.subjects.folders import builtin_folder, subject_folders


def complete_subjects(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the built-in subjects and those of ``--subjects``, without those named already."""
    return _subjects(context, incomplete, "")


def naming(kinds: Iterable[SubjectKind]) -> Callable[[typer.Context, str], list[str]]:
    """Return a completion of subjects of some kinds, built-in and of ``--subjects``."""
    below = [f"{kind}s" for kind in kinds]

    def named(context: typer.Context, incomplete: str) -> list[str]:
        return _subjects(context, incomplete, *below)

    return named


def _subjects(context: typer.Context, incomplete: str, *below: str) -> list[str]:
    tops = [*(builtin_folder() / name for name in below), *(context.params.get("subjects") or ())]
    names = {folder.resolve().name for top in tops for folder in subject_folders(top)}
    named = context.params.get("names") or ()
    return _beginning(names.difference([named] if isinstance(named, str) else named), incomplete)


def offering(offers: Sequence[str] | SubjectKind) -> Callable[..., list[str]]:
    """Return a completion of words, or of the subjects of a kind."""
    if isinstance(offers, SubjectKind):
        return naming([offers])

    def offered(incomplete: str) -> list[str]:
        return _beginning(offers, incomplete)

    return offered


def complete_generators(incomplete: str) -> list[str]:
    """Offer httpdyno's own generator, the load tools, and all of them."""
    tools = [folder.name for folder in subject_folders(builtin_folder() / "tools")]
    return _beginning(["all", "httpdyno", *tools], incomplete)


def complete_links(incomplete: str) -> list[str]:
    """Offer the links that have a name."""
    return _beginning(LINKS, incomplete)


def complete_cases(incomplete: str) -> list[str]:
    """Offer the servers with known behaviour."""
    from httpdyno.experiments.verify_generator.cases import CASES

    return _beginning([case.name for case in CASES], incomplete)


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the runs of the folder that holds them; the shell itself offers other folders."""
    from httpdyno.store import RELATIVE_NAMES, run_folders

    folders = run_folders(context.params.get("runs") or context.params.get("out") or Path("runs"))
    return _beginning([*RELATIVE_NAMES[: len(folders)], *(folder.name for folder in folders)], incomplete)


def complete_run_subjects(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the subjects of the run that is named already."""
    from httpdyno.store import find_run, read_manifest

    # Where an option lacks its value, as the one that is completed does, arguments are left as they stand.
    named = [*context.args, context.params.get("first")]
    try:
        folder = find_run(next(filter(None, named), ""), context.params.get("runs") or Path("runs"))
        return _beginning((subject.id for subject in read_manifest(folder).subjects), incomplete)
    except HttpdynoError:
        return []  # the command itself will say what is wrong


def complete_metrics(incomplete: str) -> list[str]:
    """Offer the metrics by which something is better or worse, those of all experiments."""
    from httpdyno.experiments.registry import definition_of, experiment_names

    metrics = [metric for name in experiment_names() for metric in definition_of(name).metrics]
    return _beginning({metric.name for metric in metrics if metric.better is not Direction.NEITHER}, incomplete)


def complete_published(incomplete: str) -> list[str]:
    """Offer the published tables."""
    from httpdyno.published import published_names

    return _beginning(published_names(), incomplete)


def complete_own_webs(incomplete: str) -> list[str]:
    """Offer the webs that come with the engine."""
    return _beginning(WEBS, incomplete)


def complete_formats(incomplete: str) -> list[str]:
    """Offer the formats of tables."""
    return _beginning(format_names(), incomplete)


def complete_fact_formats(incomplete: str) -> list[str]:
    """Offer the formats of ``doctor``."""
    return _beginning(("plain", "json"), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
