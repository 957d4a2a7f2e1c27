"""The options of ``httpdyno load`` as Typer knows them: for its help, and for words that are not plain."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import complete_arrivals, complete_formats, complete_methods
from httpdyno.cli.ending import exit_code_of_typer
from httpdyno.cli.load_command import send_load
from httpdyno.cli.verb import VerbCommand
from httpdyno.experiments.load.options import VERB

__all__ = ["load", "run_by_typer"]

_TARGET = "What is sent"
_PACE = "How much, and how fast"
_CONNECTION = "Connections"
_RESULT = "Results"


def load(
    urls: Annotated[list[str] | None, typer.Argument(metavar=VERB.named, help=VERB.names)] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            "--connections", "-c", metavar="N", min=1, help="Connections. Default: 64.", rich_help_panel=_PACE
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--duration",
            "-d",
            metavar="TIME",
            help="How long: seconds, or with a unit (500ms, 5m). Default: 10s, unless --requests is given.",
            rich_help_panel=_PACE,
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option("--requests", "-n", metavar="N", min=1, help="How many requests at most.", rich_help_panel=_PACE),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            "-r",
            metavar="RATE",
            help="Open loop: so many requests a second whatever the server does, or a ramp such as 100..5000."
            " Default: closed loop, the next request when an answer came.",
            rich_help_panel=_PACE,
        ),
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            "--arrivals",
            metavar="LAW",
            help="Open loop: constant (evenly spaced) or poisson (as strangers come). Default: constant.",
            autocompletion=complete_arrivals,
            rich_help_panel=_PACE,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Of random arrivals.", rich_help_panel=_PACE),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            max=1000,
            help="How often; `compare` tells differences from chance by it.",
            rich_help_panel=_PACE,
        ),
    ] = 1,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-X",
            metavar="METHOD",
            help="Default: GET, or POST with a body.",
            autocompletion=complete_methods,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "-H", metavar="'NAME: VALUE'", help="May be given several times.", rich_help_panel=_TARGET
        ),
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="TEXT", help="Content of each request.", rich_help_panel=_TARGET)
    ] = None,
    body_file: Annotated[
        str | None, typer.Option("--body-file", metavar="FILE", help="The same from a file.", rich_help_panel=_TARGET)
    ] = None,
    requests_file: Annotated[
        str | None,
        typer.Option(
            "--requests-file",
            metavar="FILE",
            help='Many requests, one a line, in turn: {"url": ..., "method": ..., "headers": {...}, "body": ...}.',
            rich_help_panel=_TARGET,
        ),
    ] = None,
    urls_file: Annotated[
        str | None,
        typer.Option(
            "--urls", metavar="FILE|-", help="URLs, one a line; - reads standard input.", rich_help_panel=_TARGET
        ),
    ] = None,
    checks: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="CHECK",
            help="Hold each answer against status=200, length=N, sha256=HEX or json=POINTER=VALUE; may be repeated.",
            rich_help_panel=_TARGET,
        ),
    ] = None,
    keepalive: Annotated[
        bool,
        typer.Option(
            "--keepalive/--no-keepalive", help="Reuse connections, or make one a request.", rich_help_panel=_CONNECTION
        ),
    ] = True,
    http2: Annotated[
        bool,
        typer.Option("--http2", help="HTTP/2: by ALPN, for http:// by prior knowledge.", rich_help_panel=_CONNECTION),
    ] = False,
    streams: Annotated[
        int | None,
        typer.Option(
            "--streams",
            metavar="N",
            min=1,
            help="HTTP/2: requests in flight on each connection. Default: 1.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="What a request is given. Default: 5s.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", "-k", help="Accept any certificate.", rich_help_panel=_CONNECTION),
    ] = False,
    cacert: Annotated[
        str | None,
        typer.Option(
            "--cacert", metavar="FILE", help="Trust these certificates, too (PEM).", rich_help_panel=_CONNECTION
        ),
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(
            "--resolve",
            metavar="HOST:PORT:ADDRESS",
            help="The address of a host, without DNS, as curl has it.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None,
    connect_to: Annotated[
        list[str] | None,
        typer.Option(
            "--connect-to",
            metavar="HOST1:PORT1:HOST2:PORT2",
            help="Connect to another host than the URL names, as curl has it.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None,
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus",
            metavar="LIST",
            help="CPUs of the generator, a thread on each: 0 or 2-3.",
            rich_help_panel=_CONNECTION,
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="LIMIT",
            help="Exit with 1 when it holds: 'p99 > 50ms', 'errors > 0.1%', 'rps < 1000'; may be given several times.",
            rich_help_panel=_RESULT,
        ),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option("--samples", metavar="FILE", help="A line for each request (CSV).", rich_help_panel=_RESULT),
    ] = None,
    hdr_log: Annotated[
        str | None,
        typer.Option(
            "--hdr-log",
            metavar="FILE",
            help="The histograms of each second (HdrHistogram V2).",
            rich_help_panel=_RESULT,
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        str,
        typer.Option(
            "--format",
            envvar="FORMAT",
            metavar="FORMAT",
            help="table, plain, json, csv or markdown.",
            autocompletion=complete_formats,
            rich_help_panel=_RESULT,
        ),
    ] = "table",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where runs are kept: each gets a folder of its own there.",
            rich_help_panel=_RESULT,
        ),
    ] = Path("runs"),
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Keep nothing: no run, no report.", rich_help_panel=_RESULT)
    ] = False,
) -> None:
    """Measure a server with the built-in generator: what Typer calls; its help is that of ``VERB``."""
    # Each parameter by its name, as the quick reading gives them. Taken before anything else is a local variable.
    given = dict(locals())
    send_load(given)


def run_by_typer() -> int:
    """Run the command that ``sys.argv`` holds, ``load`` first, when its words are not plain; return its exit code."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command(VERB.name, cls=VerbCommand, help=VERB.help)(load)
    return exit_code_of_typer(app, "httpdyno load", sys.argv[2:])
