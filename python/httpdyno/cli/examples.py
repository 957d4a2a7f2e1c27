"""Examples of each verb, as its help and the reference show them: what is typed, and what for."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.registry import verbs
from httpdyno.experiments.verb import Example

__all__ = ["EXAMPLES", "examples_text", "first_example"]

_APART: Final = 3
"""Spaces between the longest line and what it means."""
_WIDTH: Final = 80
"""Of the narrowest terminal: where an example is longer with what it means, that stands below each line."""

EXAMPLES: Final[dict[str, Sequence[Example]]] = {
    "": (Example("httpdyno bench --quick", "a first look at eleven clients"),),
    **{verb.name: verb.examples for verb in verbs()},
    "try": (
        Example("httpdyno try go-net-http --limit 500", "a line for each URL as it ends"),
        Example("cat urls.txt | httpdyno try python-aiohttp", "a list of your own"),
        Example("httpdyno try node-fetch --limit 500 --format plain", "what the client itself prints"),
    ),
    "urls": (
        Example("httpdyno urls top-sites --limit 500", "those of a web"),
        Example("httpdyno urls top10milliondomains.csv.zip --limit 1000 > urls.txt", "of a table of domains"),
        Example(
            "httpdyno urls https://tranco-list.eu/top-1m.csv.zip --limit 1000 > urls.txt", "of one to be downloaded"
        ),
    ),
    "doctor": (
        Example("httpdyno doctor", "what this machine lacks, what follows, what helps"),
        Example("httpdyno doctor --format json", "the same for programs"),
    ),
    "runs": (
        Example("httpdyno runs", "all runs below runs/, the newest first"),
        Example("httpdyno runs --format json | jq '.[0].run'", "the name of the newest"),
    ),
    "runs prune": (
        Example("httpdyno runs prune --keep 20", "all but the newest 20, after asking"),
        Example("httpdyno runs prune --older 30d --size 2GB --dry-run", "what would go"),
    ),
    "runs pin": (
        Example("httpdyno runs pin latest", "no pruning removes it"),
        Example("httpdyno runs pin latest --remove", "and now it may again"),
    ),
    "report": (
        Example("httpdyno report latest", "the table, and the page"),
        Example("httpdyno report latest --charts charts", "the charts, as SVG and PNG"),
        Example("httpdyno report previous --format markdown", "for a pull request"),
    ),
    "judge": (
        Example("httpdyno judge latest", "would today's rules say the same?"),
        Example("httpdyno judge previous --format json", "what changes, for programs"),
    ),
    "compare": (
        Example("httpdyno compare previous latest", "what changed, and how sure that is"),
        Example("httpdyno compare latest --baseline go-net-http", "all against one"),
        Example("httpdyno compare previous latest --fail-if 'right_per_s < -5%'", "for CI: exit code 1"),
    ),
    "plan": (
        Example("httpdyno plan 1e9/week", "how many machines, with which client?"),
        Example("httpdyno plan 2000/s --from latest --bytes 200KB --rtt 80ms", "your pages, and how far they are"),
        Example("httpdyno plan 100M/week --peak 2 --cores 4 --bandwidth 1gbit", "small machines, and a busy hour"),
    ),
    "query": (
        Example("httpdyno query 'select subject, right_per_s from trials'", "all runs"),
        Example("httpdyno query 'select * from samples' --run latest --format csv", "each URL of the latest"),
        Example("httpdyno query - < question.sql", "from a file"),
    ),
    "published": (
        Example("httpdyno published", "which tables there are"),
        Example("httpdyno published crawl", "one, with its source and machine"),
        Example("httpdyno published crawl --beside latest", "beside a run"),
    ),
    "verify-generator": (
        Example("httpdyno verify-generator", "httpdyno's own generator"),
        Example("httpdyno verify-generator --tool wrk --quick", "a tool, in two seconds a case"),
        Example("httpdyno verify-generator --tool all --case stall", "who sees that a server stalls?"),
    ),
    "subjects": (Example("httpdyno subjects list", "what there is, and what is missing"),),
    "subjects list": (
        Example("httpdyno subjects list", "what there is, and what is missing"),
        Example("httpdyno subjects list --subjects my-clients/", "with your own"),
    ),
    "subjects install": (
        Example("httpdyno subjects install ruby-curb deno-fetch", "with toolchains"),
        Example("httpdyno subjects install", "all of them"),
    ),
    "subjects build": (Example("httpdyno subjects build rust-reqwest", "as a run does at its start"),),
    "subjects probe": (
        Example("httpdyno subjects probe python-httpx nginx", "do their claims hold?"),
        Example("httpdyno subjects probe ./my-server", "one of your own"),
    ),
    "subjects check": (
        Example("httpdyno subjects check ./my-client", "what has to change?"),
        Example("httpdyno subjects check go-net-http", "one that comes with httpdyno"),
    ),
}
"""By the verb as it is typed, the best to begin with first; the engine's verbs have theirs."""


def first_example(verb: str) -> str:
    """Return the example that the help of a verb begins with; nothing for one that has none."""
    return "".join(f"Example: {line}{' ' * _APART}{meaning}" for line, meaning in EXAMPLES.get(verb, ())[:1])


def examples_text(verb: str, *, more: bool = False) -> str:
    """Return the examples of a verb, ``more`` than the first or all; nothing where there are none."""
    examples = EXAMPLES.get(verb, ())[more:]
    if not examples:
        return ""
    width = max(len(one.line) for one in examples)
    fits = all(2 + width + _APART + len(one.meaning) <= _WIDTH for one in examples)
    between = " " * _APART if fits else "\n      "
    lines = (f"  {line:{width if fits else 0}}{between}{meaning}" for line, meaning in examples)
    return "\n".join(["More examples" if more else "Examples", *lines, ""])
