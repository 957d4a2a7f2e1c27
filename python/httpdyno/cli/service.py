"""``httpdyno service``: how servers hold up when every request waits for parallel work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.completion import complete_loops, complete_servers, complete_tools
from httpdyno.cli.options import (
    Cpus,
    Detach,
    Format,
    Install,
    LinkSeed,
    Memory,
    OutputFolder,
    Preset,
    Resume,
    Seed,
    ServerLink,
    SubjectFolders,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.runs.pending import PendingRun

__all__ = ["service"]


def _option(name: str, metavar: str, meaning: str) -> object:
    return typer.Option(name, metavar=metavar, help=meaning)


def service(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SERVER",
            help="Servers, such as rust-axum. Default: all that have the endpoint; of a preset its own.",
            autocompletion=complete_servers,
        ),
    ] = None,
    connections: Annotated[
        str | None,
        _option("--connections", "LIST", "Connections: 20,100,250, or 100,200,...,500. Default: 20,100,250."),
    ] = None,
    loop: Annotated[
        str | None,
        typer.Option(
            "--loop",
            metavar="LIST",
            help="closed: sends when an answer came; open: sends on a schedule, as many a second as keep an ideal "
            "server at the number of connections; or both: closed,open. Default: closed.",
            autocompletion=complete_loops,
        ),
    ] = None,
    rate: Annotated[float | None, _option("--rate", "N", "Open loop: requests a second, at each point.")] = None,
    threads: Annotated[
        str | None,
        _option("--threads", "LIST", "THREADS of the server: 1, unlimited, or both: 1,unlimited. Default: unlimited."),
    ] = None,
    server_cpus: Annotated[
        str | None,
        _option(
            "--server-cpus",
            "LIST",
            "How many CPUs the server gets: 1, all (but the generator's), or both: 1,all. Default: one.",
        ),
    ] = None,
    workers: Annotated[int | None, _option("--workers", "N", "WORKERS of the server. Default: its own.")] = None,
    endpoint: Annotated[
        str | None, _option("--endpoint", "workloads|plain|json", "What is asked for. Default: workloads.")
    ] = None,
    workloads_ms: Annotated[
        str | None,
        _option("--workloads-ms", "LIST", "Waits of a request in ms, all at once. Default: 500,1000,2000."),
    ] = None,
    timeout_ms: Annotated[
        int | None, _option("--timeout-ms", "N", "After which a server answers 503. Default: never.")
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option(
            "--generator",
            metavar="TOOL",
            help="Who sends: httpdyno-load, or a tool that can send content, such as rewrk. Default: httpdyno-load.",
            autocompletion=complete_tools,
        ),
    ] = None,
    search: Annotated[
        bool,
        typer.Option("--search", help="Search for the number of connections at which each server breaks."),
    ] = False,
    most: Annotated[int | None, _option("--most-connections", "N", "How far the search goes. Default: 10,000.")] = None,
    duration: Annotated[
        str | None,
        _option("--duration", "TIME", "Length of the steady stretch. Default: 4 times the longest wait; --quick: 2."),
    ] = None,
    link: ServerLink = "direct",
    link_seed: LinkSeed = 1,
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat", metavar="N", min=1, help="How often each server runs at each point. Default: 3; --quick: 1."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: short stretches, once at each point; a coarser search.")
    ] = False,
    preset: Preset = None,
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
    """Measure how far servers are from ideal when every request waits for parallel work, and where they break."""
    from httpdyno.cli.running import Beginning, RunOptions, run_and_show
    from httpdyno.cli.service_options import ServiceOptions, choose_servers, make_service

    def begin(beginning: Beginning) -> "AbstractContextManager[PendingRun]":
        options = ServiceOptions(
            connections=connections,
            loop=loop,
            rate=rate,
            threads=threads,
            server_cpus=server_cpus,
            cpus=cpus,
            workers=workers,
            endpoint=endpoint,
            workloads_ms=workloads_ms,
            timeout_ms=timeout_ms,
            generator=generator,
            search=search,
            most=most,
            duration=duration,
            link=link,
            link_seed=link_seed,
            memory=memory,
            repeat=repeat,
            quick=quick,
            preset=preset,
            seed=seed,
        )
        chosen = choose_servers(beginning.catalogue, names, options)
        beginning.install(*chosen.servers, chosen.generator)
        return beginning.run(make_service(options, chosen), chosen.servers)

    run_and_show(context, RunOptions(format, out, subjects, cpus, resume, detach, install), begin)
