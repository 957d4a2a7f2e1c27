"""How many URLs a short trial needs, so that its deadline and not the end of its list ends it."""

from typing import Final

from httpdyno.experiments.tune.tuning import HIGHEST
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.engine import Engine
from httpdyno.lab.planned_time import read_planned_time
from httpdyno.lab.scratch import ScratchFile
from httpdyno.urls.source import UrlFile

__all__ = ["SAMPLED", "urls_needed"]

SAMPLED: Final = 500
"""URLs that a web is asked about."""
_FASTEST_PER_S: Final = 5_000
"""No client gets through more in a second here: the origin itself has a CPU or two."""
_FEWEST: Final = LEAST_TURNS * HIGHEST


def urls_needed(
    sample: UrlFile,
    engine: Engine,
    *,
    web: str,
    seed: int | None,
    timeout_s: float,
    deadline_s: float,
    against: str | None = None,
) -> int:
    """Return how many URLs the fastest client could get through.

    With N in flight, of a web that takes T for each, no client gets more than N / T in a second.

    ``sample`` is the beginning of the list. ``timeout_s`` is what a client gives one URL, ``deadline_s`` when a trial
    is ended.
    """
    with ScratchFile() as file:
        known = engine.web(web, seed=seed)
        engine.expect(
            web=web,
            seed=known.seed,
            timeout_s=timeout_s,
            urls=sample.file.path,
            into=file.file,
            against=against,
        )
        planned = read_planned_time(file.path, timeout_s=timeout_s)
    mean_s = planned.total_s / max(sample.count, 1)
    per_s = min(HIGHEST / mean_s, _FASTEST_PER_S) if mean_s > 0 else _FASTEST_PER_S
    return max(round(per_s * deadline_s), _FEWEST)
