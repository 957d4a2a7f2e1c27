"""What the shell offers while a command is typed: subjects, webs, formats. Reads names of folders only."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import typer

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.options import HTTP_VERSIONS, WEBS
from httpdyno.model import LINK_PRESETS, Direction
from httpdyno.report import format_names
from httpdyno.subjects.folders import builtin_folder, subject_folders

__all__ = [
    "complete_arrivals",
    "complete_capable",
    "complete_cases",
    "complete_claimants",
    "complete_clients",
    "complete_fact_formats",
    "complete_formats",
    "complete_generators",
    "complete_http_versions",
    "complete_links",
    "complete_loops",
    "complete_methods",
    "complete_metrics",
    "complete_own_webs",
    "complete_presets",
    "complete_published",
    "complete_run_subjects",
    "complete_runs",
    "complete_servers",
    "complete_subjects",
    "complete_tools",
    "complete_webs",
]

LIVE: Final = "live"
"""The real internet, which is no web of ours."""


def complete_subjects(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the subjects that come with httpdyno and those of ``--subjects``, but none that is named already."""
    return _subjects(context, incomplete, "")


def complete_clients(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the clients that come with httpdyno and the subjects of ``--subjects``, but none that is named already."""
    return _subjects(context, incomplete, "clients")


def complete_capable(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the clients and load tools that come with httpdyno, and the subjects of ``--subjects``."""
    return sorted({*_subjects(context, incomplete, "clients"), *_subjects(context, incomplete, "tools")})


def complete_claimants(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the clients and servers that come with httpdyno, and the subjects of ``--subjects``."""
    return sorted({*_subjects(context, incomplete, "clients"), *_subjects(context, incomplete, "servers")})


def complete_servers(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the servers that come with httpdyno and the subjects of ``--subjects``, but none that is named already."""
    return _subjects(context, incomplete, "servers")


def _subjects(context: typer.Context, incomplete: str, below: str) -> list[str]:

    tops = [builtin_folder() / below, *(context.params.get("subjects") or ())]
    names = {folder.resolve().name for top in tops for folder in subject_folders(top)}
    named = context.params.get("names") or ()
    return _beginning(names.difference(named), incomplete)


def complete_tools(incomplete: str) -> list[str]:
    """Offer the load tools that come with httpdyno."""
    return _beginning([folder.name for folder in subject_folders(builtin_folder() / "tools")], incomplete)


def complete_generators(incomplete: str) -> list[str]:
    """Offer httpdyno's own generator, the load tools, and all of them."""
    tools = [folder.name for folder in subject_folders(builtin_folder() / "tools")]
    return _beginning(["all", "httpdyno", *tools], incomplete)


def complete_links(incomplete: str) -> list[str]:
    """Offer the links that have a name."""
    return _beginning(["direct", *(preset.name for preset in LINK_PRESETS)], incomplete)


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
    named = [context.params.get("first"), *context.args]
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


def complete_arrivals(incomplete: str) -> list[str]:
    """Offer the laws by which requests arrive in an open loop."""
    return _beginning(("constant", "poisson"), incomplete)


def complete_loops(incomplete: str) -> list[str]:
    """Offer when requests are sent: on a schedule, or when an answer came."""
    return _beginning(("closed", "open"), incomplete)


def complete_methods(incomplete: str) -> list[str]:
    """Offer methods of HTTP."""
    return _beginning(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"), incomplete)


def complete_http_versions(incomplete: str) -> list[str]:
    """Complete ``--http-version``."""
    return _beginning(HTTP_VERSIONS, incomplete)


def complete_published(incomplete: str) -> list[str]:
    """Offer the published tables."""
    from httpdyno.published import published_names

    return _beginning(published_names(), incomplete)


def complete_presets(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the presets of the experiment that is being typed."""
    from httpdyno.published import preset_names

    return _beginning(preset_names(context.info_name or ""), incomplete)


def complete_webs(incomplete: str) -> list[str]:
    """Offer the webs that come with the engine, and the real internet."""
    return _beginning([*WEBS, LIVE], incomplete)


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
