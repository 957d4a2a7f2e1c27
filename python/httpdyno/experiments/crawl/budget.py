"""How much a crawl measures unless the user says it: short trials, and as many blocks as a budget of time has room for.

Blocks tell subjects apart: nine blocks with a third of the URLs each distinguish neighbours that differ by 5 % in 82 %
of runs, three whole ones in 7 %. What limits their number is the fixed cost of a trial: its start, and one timeout.
"""

from collections.abc import Iterable
from typing import Final

__all__ = ["BUDGET_S", "TIME_S", "TRIAL_URLS", "block_count"]

TRIAL_URLS: Final = 600
"""The shortest list that has a rate for every usual client: four URLs for each of 150 requests in flight."""
BUDGET_S: Final = 600.0
"""How long a crawl may take by the estimate, which is an upper bound: the eleven usual clients have six blocks in it,
and need about nine minutes."""
TIME_S: Final = 540.0
"""How long its blocks may take by the clock: on a slow or a busy machine the last blocks are left out."""
_FEWEST: Final = 3
"""With fewer blocks no difference is certain."""
_MOST: Final = 9
"""More blocks than nine make a difference that can be found hardly smaller."""


def block_count(trials_s: Iterable[float], *, least: int = _FEWEST) -> int:
    """Return how many blocks fit into the budget: 3 to 9, and never fewer than ``least``.

    ``trials_s`` are the trials of one block, in seconds each.
    """
    block_s = sum(trials_s)
    fitting = min(BUDGET_S / block_s, _MOST) if block_s > 0 else _MOST
    return max(int(fitting), _FEWEST, least)
