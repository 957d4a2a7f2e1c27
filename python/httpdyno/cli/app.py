"""The command ``httpdyno``: its verbs, and what becomes of errors."""

import sys
from typing import Annotated

import typer

import httpdyno
from httpdyno.cli import bench, compare, doctor, handover, published, query, report, runs, subjects, try_, tune, urls
from httpdyno.cli.terminal import tell
from httpdyno.errors import HttpdynoError, Interrupted

__all__ = ["app", "run"]

app = typer.Typer(
    name="httpdyno",
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


app.command("bench")(bench.bench)
app.command("try")(try_.try_subject)
app.command("tune")(tune.tune)
app.command("urls")(urls.urls)
app.command("doctor")(doctor.doctor)
app.command("runs")(runs.runs)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("query")(query.query)
app.command("published")(published.published)
app.add_typer(subjects.app, name="subjects")


@app.command("room", context_settings=_ENGINE_VERB)
def _room(context: typer.Context) -> None:
    """Run any command in the sealed internet: room --web top-sites -- curl -s https://example.org/."""
    raise typer.Exit(handover.hand_over(["room", *context.args]))


@app.command("origin", context_settings=_ENGINE_VERB)
def _origin(context: typer.Context) -> None:
    """Serve a web on its own: origin --web plain --port 8080."""
    raise typer.Exit(handover.hand_over(["origin", *context.args]))


def run() -> int:
    """Run the command that ``sys.argv`` holds; return its exit code.

    0 done, 1 a check or threshold failed, 2 usage, 3 nothing could be measured, 130 interrupted.
    """
    try:
        app(prog_name="httpdyno")
    except HttpdynoError as error:
        tell(error.line)
        return error.exit_code
    except KeyboardInterrupt:
        return Interrupted.exit_code
    return 0
