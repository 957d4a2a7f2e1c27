"""What each generator of a load sends, when all start, and the lines of the running load. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from httpdyno.cluster.command_line import last_value, take_options
from httpdyno.errors import UsageError

START_LEAD_S: Final = 10.0
"""Time between the commands and the start, in which generators begin and open connections."""
NEXT_LEAD_S: Final = 5.0
"""The same for further steps of a search, whose nodes are ready."""
SILENT_S: Final = 30.0
"""Seconds of a load after which a generator that reports nothing is given up."""
_ONE: Final = "it needs one generator; leave it out"
_FILES: Final = "the generators would write one file; leave it out"
REFUSED: Final = {
    "--segment": "the nodes have the segments; leave it out",
    "--start-at": "all generators start as soon as they are ready; leave it out",
    "--clock": "the clock of this machine is the reference; leave it out",
    "--until": _ONE,
    "--repeat": _ONE,
    "--samples": _FILES,
    "--hdr-log": _FILES,
    "--prometheus": "it shows one generator; leave it out",
    "--otlp": "it shows one generator; leave it out",
    "--dry-run": "nothing would be sent; give it without --cluster",
    "--no-store": "the merge needs the reports, and only --out keeps them; leave it out",
    "--as": "write the options of httpdyno load",
    "--progress": "the figures of all generators are one line; leave it out",
}
_OF_SEARCH: Final = {
    "--find": None,
    "--find-for": None,
    "--find-from": None,
    "--connections": "c",
    "--arrivals": None,
    "--seed": None,
}
"""Options that the process of a search reads, and not the generators of its steps."""
_TAKEN: Final = {"--cluster": None, "--fail-if": None, "--format": None, "--report": None, "--out": None}


@dataclass(frozen=True, slots=True)
class LoadWords:
    """The words of a load.

    Attributes
    ----------
    cluster : str
        Value of ``--cluster``.
    engine : list of str
        Words of each generator.
    merge : list of str
        Words of ``load-merge``.
    search : list of str or None
        Words of the process that chooses the steps of ``--find``; None: there is one load.
    out : str or None
        Folder that keeps the reports of the generators; None: they are removed.
    is_quiet : bool
        Whether only results are printed.
    """

    cluster: str
    engine: list[str]
    merge: list[str]
    search: list[str] | None
    out: str | None
    is_quiet: bool


def read_words(words: Sequence[str]) -> LoadWords:
    """Separate the words for the generators from those for the merge; raise ``UsageError`` for a mistake."""
    others, values = take_options(words, _TAKEN)
    if "-" in others:
        raise UsageError("standard input conflicts with --cluster: nodes cannot read it; name a file", option="-")
    merge = [word for limit in values.get("--fail-if", ()) for word in ("--fail-if", limit)]
    for name in ("--format", "--report"):
        if (value := last_value(values, name)) is not None:
            if value == "ndjson":
                raise UsageError("ndjson conflicts with --cluster: use json", option=name, joint=" ")
            merge += [name, value]
    bound = last_value(take_options(words, {"--clock-bound": None})[1], "--clock-bound")
    merge += [] if bound is None else ["--clock-bound", bound]
    quiet = {"-q", "--quiet"}
    of_generators, of_search = take_options(others, _OF_SEARCH)
    search = None
    if (objective := last_value(of_search, "--find")) is not None:
        search, _ = take_options(words, {"--cluster": None})
        others = [*(word for word in of_generators if word != "--no-store"), "--count-for", objective]
    return LoadWords(
        last_value(values, "--cluster") or "",
        [word for word in others if word not in quiet],
        merge,
        search,
        last_value(values, "--out"),
        not quiet.isdisjoint(others),
    )


def step_words(step: Mapping[str, Any]) -> list[str]:
    """Return the words of a step of a search for each generator."""
    words = ["--rate", step["rate"], "--duration", step["duration"], "--warm-up", step["warm_up"]]
    words += ["--connections", str(step["connections"]), "--arrivals", step["arrivals"]]
    return words if step["seed"] is None else [*words, "--seed", str(step["seed"])]


def start_lead_s(words: Sequence[str], lead_s: float = START_LEAD_S) -> float:
    """Return the seconds until the start; with ``--connections-rate``, connections take a time of their own."""
    _, values = take_options(words, {"--connections-rate": None, "--connections": "c"})
    rate = re.fullmatch(r"([0-9.]+)(?:/s)?", last_value(values, "--connections-rate") or "")
    count = last_value(values, "--connections") or "64"
    if rate is None or not count.isdigit() or float(rate[1]) == 0:
        return lead_s
    return lead_s + int(count) / float(rate[1])


@dataclass(slots=True)
class RunningSeconds:
    """Seconds of the generators, added up once all have sent them; counts alone, because percentiles do not add up."""

    generators: int
    _seconds: dict[int, dict[int, Mapping[str, Any]]] = field(default_factory=dict)
    _ends_s: dict[int, float] = field(default_factory=dict)

    def add(self, generator: int, second: Mapping[str, Any]) -> str | None:
        """Note a second of a generator; return the line of all if this was the last one that was missing."""
        if second["phase"] != "load":
            return None
        self._ends_s[generator] = second["end_s"]
        of_all = self._seconds.setdefault(int(second["start_s"]), {})
        of_all[generator] = second
        if len(of_all) < self.generators:
            return None
        del self._seconds[int(second["start_s"])]
        sums = {name: sum(one[name] for one in of_all.values()) for name in ("rps", "errors", "in_flight")}
        return (
            f"{second['end_s']:.0f} s: {sums['rps']:,.0f} requests/s from {self.generators} generators,"
            f" {sums['errors']:,} errors, {sums['in_flight']:,} in flight"
        )

    def silent(self, generators: Iterable[int]) -> int | None:
        """Return which of these generators is ``SILENT_S`` behind another one; None: none is."""
        last_s = max(self._ends_s.values(), default=0.0)
        behind = (one for one in generators if last_s - self._ends_s.get(one, 0.0) > SILENT_S)
        return next(behind, None)
