"""The command ``httpdyno``: its verbs."""

import sys
from typing import Annotated, Final

import typer

import httpdyno
from httpdyno.cli import (
    checks,
    compare,
    handover,
    judge,
    plan,
    query,
    report,
    runs,
    subjects,
    try_,
    urls,
)
from httpdyno.cli.ending import exit_code_of_typer
from httpdyno.cli.engine_verb import EngineVerb
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.cli.verb import VerbCommand, VerbGroup
from httpdyno.experiments.registry import experiment_names, verbs

_MEASURE: Final = "Measure"
_LOOK: Final = "Look at what was measured"
_PARTS: Final = "Parts, each a tool of its own"
_MACHINE: Final = "This machine"

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


app.command("try", cls=VerbCommand, rich_help_panel=_MEASURE)(try_.try_subject)
_VERBS: Final = {verb.name: verb for verb in verbs()}


def _load(context: typer.Context) -> None:
    """Send requests to a server, and measure how fast it answers: load http://localhost:8080/ -c 64 -d 10s."""
    raise typer.Exit(handover.hand_over(["load", *context.args]))


for _name in experiment_names():
    if _verb := _VERBS.get(_name):
        app.command(_name, cls=VerbCommand, rich_help_panel=_MEASURE, help=_verb.help)(experiment_verb(_verb))
    else:
        app.command(_name, cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_MEASURE)(_load)
app.add_typer(runs.app, name="runs", rich_help_panel=_LOOK)
app.command("report", cls=VerbCommand, rich_help_panel=_LOOK)(report.report)
app.command("judge", cls=VerbCommand, rich_help_panel=_LOOK)(judge.judge)
app.command("compare", cls=VerbCommand, rich_help_panel=_LOOK)(compare.compare)
app.command("plan", cls=VerbCommand, rich_help_panel=_LOOK)(plan.plan)
app.command("query", cls=VerbCommand, rich_help_panel=_LOOK)(query.query)
app.command("published", cls=VerbCommand, rich_help_panel=_LOOK)(compare.published)
app.command("urls", cls=VerbCommand, rich_help_panel=_PARTS)(urls.urls)


@app.command("room", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_PARTS)
def _room(context: typer.Context) -> None:
    """Run any command in the sealed internet: room --web top-sites -- curl -s https://example.org/."""
    raise typer.Exit(handover.hand_over(["room", *context.args]))


@app.command("origin", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_PARTS)
def _origin(context: typer.Context) -> None:
    """Serve a web on its own: origin --web plain --listen 0.0.0.0."""
    raise typer.Exit(handover.hand_over(["origin", *context.args]))


@app.command("fetch", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_PARTS)
def _fetch(context: typer.Context) -> None:
    """Fetch the URLs of standard input, a row each: fetch --concurrency 200 --save pages < urls.txt."""
    raise typer.Exit(handover.hand_over(["fetch", *context.args]))


@app.command("link", cls=EngineVerb, context_settings=_ENGINE_VERB, rich_help_panel=_PARTS)
def _link(context: typer.Context) -> None:
    """Print what a text means as a link, and list those that have a name: link 4g,loss=1%, link --presets."""
    raise typer.Exit(handover.hand_over(["link", *context.args]))


app.command("doctor", cls=VerbCommand, rich_help_panel=_MACHINE)(checks.doctor)
app.add_typer(subjects.app, name="subjects", rich_help_panel=_MACHINE)
app.command("verify-generator", cls=VerbCommand, rich_help_panel=_MACHINE)(checks.verify_generator)


def run() -> int:
    """Run the command that ``sys.argv`` holds; return its exit code."""
    return exit_code_of_typer(app, "httpdyno", sys.argv[1:])
