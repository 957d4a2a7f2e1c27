"""``httpdyno latency``: what one call costs in a warm process, alone and 20 at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.options import (
    Against,
    Cpus,
    Detach,
    Format,
    Install,
    LinkSeed,
    LinkSpec,
    Memory,
    OutputFolder,
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

__all__ = ["latency"]


def latency(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUBJECT",
            help="Clients. Default: the three of the published figures, and those of --subjects.",
            autocompletion=complete_clients,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option("--workload", metavar="LIST", help="What a call fetches: plain, json. Default: plain,json."),
    ] = None,
    parallel: Annotated[
        str | None,
        typer.Option(
            "--parallel", metavar="LIST", help="Calls started at once; a loop ends with the last. Default: 1,20."
        ),
    ] = None,
    keepalive: Annotated[
        str | None,
        typer.Option(
            "--keepalive",
            metavar="on|off|both",
            help="Whether connections may be kept. Default: both, of a preset its own.",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="lines|harness|both",
            help="Who times the calls: lines: from outside; harness: the client itself, where it can.",
        ),
    ] = "both",
    peer: Peer = None,
    seed: Seed = None,
    link: LinkSpec = "direct",
    link_seed: LinkSeed = 1,
    against: Against = None,
    timeout: Timeout = "5",
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            metavar="TIME",
            help="How long a client is handed batches: seconds, or with a unit. Default: 6s, 4s with --quick.",
        ),
    ] = None,
    repeat: Repeat = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: each subject runs once at each point, for 4 s.")
    ] = False,
    preset: Preset = None,
    install: Install = False,
    cpus: Cpus = None,
    memory: Memory = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
    resume: Resume = None,
    detach: Detach = False,
) -> None:
    """Measure what one call costs in a warm process, as Python's timeit does, and whose time that is."""
    from httpdyno.cli.latency_options import LatencyOptions, choose_subjects, make_latency, peer_of
    from httpdyno.cli.running import Beginning, RunOptions, run_and_show

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        server = peer_of(beginning.catalogue, peer, preset, against=against)
        options = LatencyOptions(
            workload=workload,
            parallel=parallel,
            keepalive=keepalive,
            mode=mode,
            peer=server,
            seed=seed,
            link=link,
            link_seed=link_seed,
            timeout=timeout,
            duration=duration,
            memory=memory,
            repeat=repeat,
            quick=quick,
            preset=preset,
            against=against,
        )
        chosen = choose_subjects(beginning.catalogue, names, preset)
        beginning.install(*chosen, server)
        return beginning.run(make_latency(options, chosen, beginning.place.engine), chosen)

    run_and_show(context, RunOptions(format, out, subjects, cpus, resume, detach, install), begin)
