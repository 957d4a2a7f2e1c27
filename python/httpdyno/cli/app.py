"""The command ``httpdyno``: its verbs."""

import sys
from typing import Annotated, Final

import typer

import httpdyno
from httpdyno.cli import (
    bench,
    capacity,
    compare,
    cost,
    doctor,
    handover,
    latency,
    load,
    published,
    query,
    report,
    runs,
    service,
    subjects,
    try_,
    tune,
    urls,
    verify_generator,
)
from httpdyno.cli.ending import exit_code_of_typer
from httpdyno.cli.engine_verb import EngineVerb
from httpdyno.cli.verb import Verb, VerbGroup

__all__ = ["app", "run"]

_MEASURE: Final = "Measure"
_LOOK: Final = "Look at what was measured"
_PREPARE: Final = "Prepare"
_ALONE: Final = "Tools of their own"

app = typer.Typer(
    name="httpdyno",
    cls=VerbGroup,
    help="Measures HTTP clients in a sealed internet of its own, and checks every answer they report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ENGINE_VERB = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"httpdyno {httpdyno.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


app.command("bench", cls=Verb, rich_help_panel=_MEASURE)(bench.bench)
app.command("try", cls=Verb, rich_help_panel=_MEASURE)(try_.try_subject)
app.command("tune", cls=Verb, rich_help_panel=_MEASURE)(tune.tune)
app.command("capacity", cls=Verb, rich_help_panel=_MEASURE)(capacity.capacity)
app.command("cost", cls=Verb, rich_help_panel=_MEASURE)(cost.cost)
app.command("latency", cls=Verb, rich_help_panel=_MEASURE)(latency.latency)
app.command("service", cls=Verb, rich_help_panel=_MEASURE)(service.service)
app.command("load", cls=Verb, rich_help_panel=_MEASURE)(load.load)
app.command("urls", cls=Verb, rich_help_panel=_PREPARE)(urls.urls)
app.command("doctor", cls=Verb, rich_help_panel=_PREPARE)(doctor.doctor)
app.command("runs", cls=Verb, rich_help_panel=_LOOK)(runs.runs)
app.command("report", cls=Verb, rich_help_panel=_LOOK)(report.report)
app.command("compare", cls=Verb, rich_help_panel=_LOOK)(compare.compare)
app.command("query", cls=Verb, rich_help_panel=_LOOK)(query.query)
app.command("published", cls=Verb, rich_help_panel=_LOOK)(published.published)
app.command("verify-generator", cls=Verb, rich_help_panel=_PREPARE)(verify_generator.verify_generator)
app.add_typer(subjects.app, name="subjects", cls=VerbGroup, rich_help_panel=_PREPARE)


@app.command("room", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_ALONE)
def _room(context: typer.Context) -> None:
    """Run any command in the sealed internet: room --web top-sites -- curl -s https://example.org/."""
    raise typer.Exit(handover.hand_over(["room", *context.args]))


@app.command("origin", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_ALONE)
def _origin(context: typer.Context) -> None:
    """Serve a web on its own: origin --web plain --listen 0.0.0.0."""
    raise typer.Exit(handover.hand_over(["origin", *context.args]))


@app.command("fetch", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_ALONE)
def _fetch(context: typer.Context) -> None:
    """Fetch the URLs of standard input, a row each: fetch --concurrency 200 --save pages < urls.txt."""
    raise typer.Exit(handover.hand_over(["fetch", *context.args]))


@app.command("link", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_ALONE)
def _link(context: typer.Context) -> None:
    """Print what a text means as a link, and list those that have a name: link 4g,loss=1%, link --presets."""
    raise typer.Exit(handover.hand_over(["link", *context.args]))


def run() -> int:
    """Run the command that ``sys.argv`` holds; return its exit code."""
    return exit_code_of_typer(app, "httpdyno", sys.argv[1:])
