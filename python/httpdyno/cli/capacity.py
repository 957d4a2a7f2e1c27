"""``httpdyno capacity``: up to which size, delay, distance, bandwidth and concurrency a subject holds a rate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_capable, complete_loops
from httpdyno.cli.options import (
    Against,
    Cpus,
    Detach,
    Format,
    GridPreset,
    GridScale,
    Install,
    LinkSeed,
    Memory,
    OutputFolder,
    Resume,
    Seed,
    SubjectFolders,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from httpdyno.experiments.capacity.capacity import Capacity
    from httpdyno.model import Subject
    from httpdyno.runs.pending import PendingRun

__all__ = ["capacity"]


def _axis(option: str, meaning: str) -> object:
    return typer.Option(option, metavar="LIST", help=meaning)


def capacity(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SUBJECT", help="Clients and load tools, such as go-net-http.", autocompletion=complete_capable
        ),
    ] = None,
    rps: Annotated[
        float | None,
        typer.Option("--rps", metavar="N", min=0.01, help="Right answers a second to be held. Default: 2000."),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo",
            metavar="CLAUSES",
            help="What has to hold beside the rate: p50, p90, p99, p99.9, mean, max and errors. "
            "Default: 'p99 < rtt + delay + 500ms, errors < 0.1%'.",
        ),
    ] = None,
    size: Annotated[str | None, _axis("--size", "Content of an answer: 0,100KiB,...,500KiB. Default: 0.")] = None,
    delay: Annotated[
        str | None, _axis("--delay", "How long the server waits before it answers: 0,100ms. Default: 0.")
    ] = None,
    rtt: Annotated[str | None, _axis("--rtt", "Round-trip time of the link: 0,20ms,...,100ms. Default: 0.")] = None,
    link_rate: Annotated[
        str | None, _axis("--link-rate", "Rate of the link: 1gbit..10gbit. Default: not limited.")
    ] = None,
    queue: Annotated[
        str | None, _axis("--queue", "Longest time that a packet waits for that rate. Default: 100ms.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss", metavar="SHARE", help="Packets that the link loses, such as 0.1%.")
    ] = None,
    link_seed: LinkSeed = 1,
    concurrency: Annotated[
        str | None, _axis("--concurrency", "Requests in flight at most: 200..1000. Default: 200.")
    ] = None,
    against: Against = None,
    loop: Annotated[
        str | None,
        typer.Option(
            "--loop",
            metavar="open|closed",
            help="open: sent on a schedule; closed: sent when an answer came. Default: open, of a preset its own.",
            autocompletion=complete_loops,
        ),
    ] = None,
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier", help="Search for the largest size that holds, instead of trying every point of the grid."
        ),
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration", metavar="TIME", help="How much of each schedule is measured. Default: 5s, 1s with --quick."
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout", metavar="TIME", envvar="REQUEST_TIMEOUT", help="What a subject gives one URL. Default: 10s."
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", metavar="N", min=1, help="How often each subject is measured at each point.")
    ] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: 1 s at each point.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start also what takes more than an hour.")] = False,
    preset: GridPreset = None,
    scale: GridScale = None,
    as_labelled: Annotated[
        bool,
        typer.Option("--as-labelled", help="published-batch-4: with the distances that its labels name."),
    ] = False,
    seed: Seed = None,
    install: Install = False,
    cpus: Cpus = None,
    memory: Memory = None,
    format: Format = "table",  # noqa: A002
    out: OutputFolder = Path("runs"),
    subjects: SubjectFolders = None,
    resume: Resume = None,
    detach: Detach = False,
) -> None:
    """Find up to where each subject holds a rate: a trial for each point of a grid, or a search for the frontier."""
    from httpdyno.cli.capacity_options import CapacityOptions, choose_subjects, make_capacity
    from httpdyno.cli.capacity_preset import write_published_form
    from httpdyno.cli.running import Beginning, RunOptions, run_and_show

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        options = CapacityOptions(
            rps=rps,
            slo=slo,
            size=size,
            delay=delay,
            rtt=rtt,
            link_rate=link_rate,
            queue=queue,
            loss=loss,
            link_seed=link_seed,
            concurrency=concurrency,
            loop=loop,
            duration=duration,
            timeout=timeout,
            memory=memory,
            seed=seed,
            repeat=repeat,
            quick=quick,
            preset=preset,
            scale=scale,
            as_labelled=as_labelled,
            frontier=frontier,
            against=against,
        )
        chosen = choose_subjects(beginning.catalogue, names, preset)
        experiment = make_capacity(options, chosen, beginning.place.engine)
        _check_extent(experiment, chosen, agreed=yes)
        beginning.install(*chosen)
        return beginning.run(experiment, chosen)

    of_run = RunOptions(format, out, subjects, cpus, resume, detach, install)
    run_and_show(context, of_run, begin, beside=write_published_form)


def _check_extent(experiment: "Capacity", subjects: "Sequence[Subject]", *, agreed: bool) -> None:
    """Refuse what takes hours, unless somebody has agreed to it."""
    from httpdyno.experiments.capacity.extent import extent_of

    extent = extent_of(
        experiment.axes, subjects=len(subjects), repeat=experiment.repeat, duration_s=experiment.duration_s
    )
    if experiment.frontier:
        extent = extent.of(experiment.plan(subjects).most)
    extent.check(agreed=agreed)
