"""The command ``httpdyno``: its verbs. A verb is imported only when called, or for its help."""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click
from click.exceptions import Exit

import httpdyno
from httpdyno.cli import ENGINE_VERBS, hand_over, names_cluster
from httpdyno.cli.ending import run_command
from httpdyno.cli.verb import VerbCommand, VerbGroup, VerbOption, offered_items

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_SUMMARIES: Final = {
    "Measure": {
        "try": "Run one client and print a line for each URL as it completes, then the figures.",
        "bench": "Crawl the same URLs with each client, interleaved, and print the table.",
        "tune": "Find the concurrency with the most right answers a second, in at most 12 short trials a client,"
        " and keep it.",
        "load": "Send requests to a server, and measure how fast it answers: load http://localhost:8080/ -c 64 -d 10s.",
        "capacity": "Find the limits within which each subject holds a rate: measure a grid, or search for the"
        " frontier.",
        "cost": "Measure the cost of JSON documents that each subject fetches, parses and checks one after another.",
        "latency": "Measure the time of one call in a warm process, like timeit, and split it into server, wire and"
        " client.",
        "conform": "Try how clients behave against servers that follow, stretch or break the standards, a case a"
        " clause.",
        "service": "Measure how much servers add to requests that wait for parallel work, and at which load they"
        " break.",
    },
    "Inspect stored runs": {
        "report": "Print the table of a run and write its page: one HTML file that needs no network.",
        "judge": "Judge a stored run again by the rules of this version, and print what changes.",
        "compare": "Print what changed from run A to run B, or how the subjects of one run differ, and how sure that"
        " is.",
        "plan": "Print the machines that a load needs: cores, requests in flight, memory, bandwidth, sockets of"
        " each client.",
        "query": "Query all runs in a folder with SQL.",
        "published": "List published tables; print one with its source, or compare a run with it.",
        "runs": "List the runs of a folder, the newest first; prune old runs, or pin runs to keep.",
    },
    "Parts, as tools of their own": {
        "urls": "Print URLs, one a line: those of a web, or those of a list with https:// put before bare domains.",
        "room": "Run any command in the sealed internet: room --web top-sites -- curl -s https://example.org/.",
        "origin": "Serve a web on its own: origin --web plain --listen 0.0.0.0.",
        "load-merge": "Add up the reports of several generators of one load, without loss: load-merge node-1 node-2.",
        "clock": "Serve the time of this machine, so that load --start-at starts several generators at one moment.",
        "fetch": "Fetch the URLs of standard input, a row each: fetch --concurrency 200 --save pages < urls.txt.",
        "split": "Split a list of URLs into shards, to fetch each on a machine of its own: split urls.txt --shards 16.",
        "merge": "Check that the shards of a list have each URL once, and write the report of all: merge crawl.",
        "link": "Print the link that a text describes, or list the named links: link 4g,loss=1%, link --presets.",
    },
    "This machine": {
        "doctor": "Print the abilities and limits of this machine, each with its consequence and its cure.",
        "verify-generator": "Test load generators: run them against servers with known behaviour and compare"
        " their percentiles.",
        "subjects": "List, install, build, probe and check the subjects.",
    },
}
"""The verbs by their headings, with the first paragraph of their help, so that listing them imports none."""
_MODULES: Final = {
    "try": "try_",
    "judge": "report",
    "published": "compare",
    "doctor": "checks",
    "verify-generator": "checks",
}
"""The modules of verbs whose module has another name."""


class _EngineVerb(VerbCommand):
    """A verb of the engine, which reads its options."""

    def __init__(self, name: str, summary: str) -> None:
        settings = {"allow_extra_args": True, "ignore_unknown_options": True}
        super().__init__(name, None, (), summary, context_settings=settings, add_help_option=False)

    def invoke(self, ctx: click.Context) -> None:
        words = [str(self.name), *ctx.args]
        if names_cluster(words):
            from httpdyno.cluster import run_on_cluster

            raise Exit(run_on_cluster(words[0], words[1:]))
        raise Exit(hand_over(words))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the options that the engine's help lists, and the named webs, links and formats."""
        from httpdyno.cli.completion import offers_of_engine

        return offered_items(offers_of_engine(str(self.name), ctx, incomplete), incomplete)


class _Httpdyno(VerbGroup):
    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Return heading, name and summary of each verb; import an experiment that has no summary above."""
        from httpdyno.experiments.registry import verb_names, verb_of

        known = {name for verbs in _SUMMARIES.values() for name in verbs}
        others = {name: verb_of(name).help for name in verb_names() if name not in known}
        for heading, verbs in (*_SUMMARIES.items(), (next(iter(_SUMMARIES)), others)):
            for name, summary in verbs.items():
                yield heading, name, summary

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from httpdyno.experiments.registry import verb_names, verb_of

        del ctx
        summary = next((text for _, name, text in self.summaries() if name == cmd_name), None)
        if cmd_name in self.commands or summary is None:
            return self.commands.get(cmd_name)
        if cmd_name in ENGINE_VERBS:
            command: click.Command = _EngineVerb(cmd_name, summary)
        elif cmd_name in verb_names():
            from httpdyno.cli.options import experiment_verb

            command = experiment_verb(verb_of(cmd_name))
        else:
            module = vars(import_module(f"httpdyno.cli.{_MODULES.get(cmd_name, cmd_name)}"))
            command = next(one for one in module.values() if isinstance(one, click.Command) and one.name == cmd_name)
        self.commands[cmd_name] = command
        return command


def _answer_flag(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    if option.name == "version":
        sys.stdout.write(f"httpdyno {httpdyno.__version__}\n")
    else:
        from httpdyno.cli.completion import install_completion, show_completion

        (install_completion if option.name == "install_completion" else show_completion)(context.command)
    raise Exit


_FLAGS: Final = {
    "--version": "Print the version and exit.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
}
app = _Httpdyno(
    "httpdyno",
    None,
    [
        VerbOption(
            [flag], is_flag=True, default=False, is_eager=True, expose_value=False, help=text, callback=_answer_flag
        )
        for flag, text in _FLAGS.items()
    ],
    "Measures HTTP clients in a sealed internet of its own, and checks every answer they report.",
    examples=(("httpdyno bench --quick", "a first look at eleven clients"),),
)


def run() -> int:
    """Run the command in ``sys.argv``; return its exit code."""
    if asked := os.environ.get("_HTTPDYNO_COMPLETE"):
        from httpdyno.cli.completion import answer_shell

        return answer_shell(app, asked)
    return run_command(app, sys.argv[1:])
