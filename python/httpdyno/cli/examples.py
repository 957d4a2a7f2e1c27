"""Examples of each verb, as its help and the reference show them: what is typed, and what for."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.registry import verbs
from httpdyno.experiments.verb import Example

__all__ = ["EXAMPLES", "examples_text"]

_APART: Final = 3
"""Spaces between the longest line and what it means."""
_LONG: Final = 64
"""A line that is longer than this has its meaning below it, so that one does not push all the others away."""

EXAMPLES: Final[dict[str, Sequence[Example]]] = {
    **{verb.name: verb.examples for verb in verbs()},
    "try": (
        Example("httpdyno try go-net-http --limit 500", "a line for each URL as it completes"),
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
    "report": (
        Example("httpdyno report latest", "the table, and the page"),
        Example("httpdyno report latest --charts charts", "the charts, as SVG and PNG"),
        Example("httpdyno report previous --format markdown", "for a pull request"),
    ),
    "compare": (
        Example("httpdyno compare previous latest", "what changed, and how sure that is"),
        Example("httpdyno compare latest --baseline go-net-http", "all against one"),
        Example("httpdyno compare previous latest --fail-if 'rightPerSec < -5%'", "for CI: exit code 1"),
    ),
    "query": (
        Example("httpdyno query 'select subject, right_per_s from trials'", "SQL over all runs"),
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
    "subjects list": (
        Example("httpdyno subjects list", "what there is, and what is missing"),
        Example("httpdyno subjects list --subjects my-clients/", "with your own"),
    ),
    "subjects install": (
        Example("httpdyno subjects install ruby-curb deno-fetch", "these, with their toolchains"),
        Example("httpdyno subjects install", "all of them"),
    ),
    "subjects build": (Example("httpdyno subjects build rust-reqwest", "what a run does itself before it begins"),),
    "subjects probe": (
        Example("httpdyno subjects probe python-httpx nginx", "does each do what its subject.toml claims?"),
        Example("httpdyno subjects probe mine --subjects my-clients/", "one of your own"),
    ),
}
"""By the verb as it is typed; those of ``room``, ``origin``, ``fetch`` and ``link`` are the engine's."""


def examples_text(verb: str) -> str:
    """Return the examples of a verb as its help shows them; nothing for one that has none."""
    examples = EXAMPLES.get(verb, ())
    if not examples:
        return ""
    width = max((len(one.line) for one in examples if len(one.line) <= _LONG), default=0) + _APART
    return "\n".join(["Examples", *(f"  {_beside(one, width)}" for one in examples), ""])


def _beside(example: Example, width: int) -> str:
    if len(example.line) > _LONG:
        return f"{example.line}\n      {example.meaning}"
    return f"{example.line:{width}}{example.meaning}"
