"""The command ``httpdyno``: its verbs. A verb is imported only when called, or for its help."""

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from click.exceptions import Exit

import httpdyno
from httpdyno.cli.ending import run_command
from httpdyno.cli.handover import hand_over
from httpdyno.cli.verb import VerbCommand, VerbGroup, VerbOption
from httpdyno.errors import HttpdynoError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MEASURE: Final = "Measure"
_LOOK: Final = "Inspect stored runs"
_PARTS: Final = "Parts, as tools of their own"
_MACHINE: Final = "This machine"
_ENGINE: Final = "engine"
_EXPERIMENT: Final = "experiment"


class _Entry(NamedTuple):
    """A verb in the help of ``httpdyno``: its heading, where it is defined, and the first paragraph of its help."""

    heading: str
    place: str
    """Module and name, ``engine`` for a verb of the engine, ``experiment`` for the verb of an experiment."""
    summary: str


_VERBS: Final = {
    "try": _Entry(
        _MEASURE, "try_:try_subject", "Run one client and print a line for each URL as it completes, then the figures."
    ),
    "bench": _Entry(_MEASURE, _EXPERIMENT, "Crawl the same URLs with each client, interleaved, and print the table."),
    "tune": _Entry(
        _MEASURE,
        _EXPERIMENT,
        "Find the concurrency with the most right answers a second, in at most 12 short trials a client, and keep it.",
    ),
    "load": _Entry(
        _MEASURE,
        _ENGINE,
        "Send requests to a server, and measure how fast it answers: load http://localhost:8080/ -c 64 -d 10s.",
    ),
    "capacity": _Entry(
        _MEASURE,
        _EXPERIMENT,
        "Find the limits within which each subject holds a rate: measure a grid, or search for the frontier.",
    ),
    "cost": _Entry(
        _MEASURE,
        _EXPERIMENT,
        "Measure the cost of JSON documents that each subject fetches, parses and checks one after another.",
    ),
    "latency": _Entry(
        _MEASURE,
        _EXPERIMENT,
        "Measure the time of one call in a warm process, like timeit, and divide it among server, wire and client.",
    ),
    "service": _Entry(
        _MEASURE,
        _EXPERIMENT,
        "Measure how far servers are from ideal when every request waits for parallel work, and where they break.",
    ),
    "report": _Entry(
        _LOOK,
        "report:report",
        "Print the table of a run and write its page: one HTML file that needs no network.",
    ),
    "judge": _Entry(
        _LOOK, "report:judge", "Judge a stored run again by the rules of this version, and print what changes."
    ),
    "compare": _Entry(
        _LOOK,
        "compare:compare",
        "Print what changed from run A to run B, or how the subjects of one run differ, and how sure that is.",
    ),
    "plan": _Entry(
        _LOOK,
        "plan:plan",
        "Print the machines that a load needs: cores, requests in flight, memory, bandwidth, sockets of each client.",
    ),
    "query": _Entry(_LOOK, "query:query", "Query all runs in a folder with SQL."),
    "published": _Entry(
        _LOOK,
        "compare:published",
        "List published tables; print one with its source, or compare a run with it.",
    ),
    "runs": _Entry(
        _LOOK,
        "runs:app",
        "List the runs of a folder, the newest first; prune old runs, or pin runs to keep.",
    ),
    "urls": _Entry(
        _PARTS,
        "urls:urls",
        "Print URLs, one a line: those of a web, or those of a list with https:// put before bare domains.",
    ),
    "room": _Entry(
        _PARTS,
        _ENGINE,
        "Run any command in the sealed internet: room --web top-sites -- curl -s https://example.org/.",
    ),
    "origin": _Entry(_PARTS, _ENGINE, "Serve a web on its own: origin --web plain --listen 0.0.0.0."),
    "fetch": _Entry(
        _PARTS,
        _ENGINE,
        "Fetch the URLs of standard input, a row each: fetch --concurrency 200 --save pages < urls.txt.",
    ),
    "link": _Entry(
        _PARTS,
        _ENGINE,
        "Print what a text means as a link, and list those that have a name: link 4g,loss=1%, link --presets.",
    ),
    "doctor": _Entry(
        _MACHINE,
        "checks:doctor",
        "Print what this machine can and cannot do, each fact with its consequence and its cure.",
    ),
    "verify-generator": _Entry(
        _MACHINE,
        "checks:verify_generator",
        "Hold load generators to the truth: run them against servers with known behaviour and compare their"
        " percentiles.",
    ),
    "subjects": _Entry(_MACHINE, "subjects:app", "List, install, build, probe and check the subjects."),
}


class _EngineVerb(VerbCommand):
    """``room``, ``origin``, ``load``, ``fetch`` or ``link``: the engine reads its options."""

    def __init__(self, name: str, summary: str) -> None:
        super().__init__(
            name,
            None,
            (),
            summary,
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
            add_help_option=False,
        )

    def invoke(self, ctx: click.Context) -> None:
        """Become the engine."""
        raise Exit(hand_over([str(self.name), *ctx.args]))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the options that the engine's help lists, and the named webs and links."""
        from click.shell_completion import CompletionItem

        offered = _offers_of_engine(str(self.name), ctx, incomplete)
        return [CompletionItem(word) for word in sorted(offered) if word.startswith(incomplete)]


def _offers_of_engine(verb: str, context: click.Context, incomplete: str) -> Iterable[str]:
    from httpdyno.cli.completion import offer_formats, offer_links, offer_own_webs

    values = {"--web": offer_own_webs, "--link": offer_links, "--format": offer_formats}
    if (before := "".join(context.args[-1:])) in values:
        return values[before](context)
    if verb == "link" and not incomplete.startswith("-"):
        return offer_links(context)
    return _options_of_engine(verb) if incomplete.startswith("-") and "--" not in context.args else []


def _options_of_engine(verb: str) -> list[str]:
    import re
    import subprocess

    from httpdyno.subjects.engine_program import find_engine

    try:
        help_text = subprocess.run([find_engine(), verb, "-h"], capture_output=True, text=True, timeout=2, check=True)
    except (HttpdynoError, OSError, subprocess.SubprocessError):
        return []  # the command itself reports the error
    return list(dict.fromkeys(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", help_text.stdout, re.MULTILINE)))


class _Httpdyno(VerbGroup):
    """All verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs in their order."""
        del ctx
        return list(_entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb of a name."""
        del ctx
        if cmd_name not in self.commands and (entry := _entries().get(cmd_name)):
            self.commands[cmd_name] = _import_verb(cmd_name, entry)
        return self.commands.get(cmd_name)

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Return heading, name and summary of each verb, without importing it."""
        return ((entry.heading, name, entry.summary) for name, entry in _entries().items())


def _entries() -> dict[str, _Entry]:
    """Return the entries of all verbs; an experiment without an entry above is imported for its summary."""
    from httpdyno.experiments.registry import verb_names, verb_of

    others = (name for name in verb_names() if name not in _VERBS)
    return _VERBS | {name: _Entry(_MEASURE, _EXPERIMENT, verb_of(name).help) for name in others}


def _import_verb(name: str, entry: _Entry) -> click.Command:
    if entry.place == _ENGINE:
        return _EngineVerb(name, entry.summary)
    if entry.place == _EXPERIMENT:
        from httpdyno.cli.experiment_verb import experiment_verb
        from httpdyno.experiments.registry import verb_of

        return experiment_verb(verb_of(name))
    module, _, attribute = entry.place.partition(":")
    command: click.Command = getattr(import_module(f"httpdyno.cli.{module}"), attribute)
    return command


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        sys.stdout.write(f"httpdyno {httpdyno.__version__}\n")
        raise Exit


def _complete(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from httpdyno.cli.shells import install_completion, show_completion

        (install_completion if option.name == "install_completion" else show_completion)(context.command)
        raise Exit


def _flag(name: str, help: str, callback: Any) -> VerbOption:  # noqa: A002, ANN401
    return VerbOption(
        [name], is_flag=True, default=False, is_eager=True, expose_value=False, help=help, callback=callback
    )


app = _Httpdyno(
    "httpdyno",
    None,
    (
        _flag("--version", "Print the version and exit.", _print_version),
        _flag("--install-completion", "Install completion for the current shell.", _complete),
        _flag(
            "--show-completion",
            "Show completion for the current shell, to copy it or customize the installation.",
            _complete,
        ),
    ),
    "Measures HTTP clients in a sealed internet of its own, and checks every answer they report.",
    examples=(("httpdyno bench --quick", "a first look at eleven clients"),),
)


def run() -> int:
    """Run the command that ``sys.argv`` holds; return its exit code."""
    if asked := os.environ.get("_HTTPDYNO_COMPLETE"):
        from httpdyno.cli.shells import answer_shell

        return answer_shell(app, asked)
    return run_command(app, sys.argv[1:])
