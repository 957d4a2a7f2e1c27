"""``httpdyno cost``: what 10,000 verified JSON documents cost in CPU time, memory and time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_capable
from httpdyno.cli.options import (
    Against,
    Cpus,
    Detach,
    DocumentScale,
    Duration,
    Format,
    Install,
    LinkSeed,
    LinkSpec,
    Memory,
    OutputFolder,
    OwnWeb,
    Peer,
    Preset,
    Repeat,
    Resume,
    Seed,
    SubjectFolders,
    Timeout,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.runs.pending import PendingRun

__all__ = ["cost"]


def cost(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUBJECT",
            help="Clients, and tools beside them. Default: the eleven of the published crawl's table, ab and httperf.",
            autocompletion=complete_capable,
        ),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(
            "--documents", metavar="N", min=1, help="JSON documents that each subject fetches. Default: 10,000."
        ),
    ] = None,
    keepalive: Annotated[
        str, typer.Option("--keepalive", metavar="on|off|both", help="Whether connections may be kept.")
    ] = "on",
    gzip: Annotated[
        str, typer.Option("--gzip", metavar="on|off|both", help="Whether documents are offered compressed.")
    ] = "off",
    peer: Peer = None,
    web: OwnWeb = "plain",
    seed: Seed = None,
    link: LinkSpec = "direct",
    link_seed: LinkSeed = 1,
    against: Against = None,
    timeout: Timeout = "5",
    duration: Duration = "600",
    repeat: Repeat = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A first look: each subject runs once, with 2,000 documents, unless --repeat, --documents or --scale"
            " says otherwise.",
        ),
    ] = False,
    preset: Preset = None,
    scale: DocumentScale = None,
    install: Install = False,
    cpus: Cpus = None,
    memory: Memory = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
    resume: Resume = None,
    detach: Detach = False,
) -> None:
    """Measure what each subject spends on JSON documents that it fetches, parses and checks one after another."""
    from httpdyno.cli.against import given
    from httpdyno.cli.cost_options import CostOptions, choose_subjects, make_cost
    from httpdyno.cli.running import Beginning, RunOptions, run_and_show
    from httpdyno.cli.terminal import tell
    from httpdyno.runs.companion import find_peer

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        server = find_peer(beginning.catalogue, peer, "json")
        options = CostOptions(
            documents=documents,
            keepalive=keepalive,
            gzip=gzip,
            web=web,
            link=link,
            link_seed=link_seed,
            timeout=timeout,
            duration=duration,
            memory=memory,
            peer=server,
            seed=seed,
            repeat=repeat,
            quick=quick,
            preset=preset,
            scale=scale,
            against=against,
            web_given=given(context, "web"),
        )
        chosen = choose_subjects(beginning.catalogue, names, preset)
        beginning.install(*chosen.subjects, server)
        experiment = make_cost(options, chosen, beginning.place.engine)
        for subject, reason in chosen.left_out.items():
            tell(f"{subject} is left out: it {reason}")
        return beginning.run(experiment, chosen.subjects)

    run_and_show(context, RunOptions(format, out, subjects, cpus, resume, detach, install), begin)
