"""How long a trial of a crawl may take: ten minutes, and of a first look as long as its list asks for."""

from math import ceil
from typing import Final

from httpdyno.lab.planned_time import PlannedTime

__all__ = ["USUAL_DEADLINE_S", "quick_deadline_s"]

USUAL_DEADLINE_S: Final = 600.0
_START_S: Final = 30.0
"""For a runtime that starts on a busy machine."""
_URL_S: Final = 0.01
"""What a URL takes the slowest client itself: twice what is known of any."""
_TIMES: Final = 3
_STEP_S: Final = 10


def quick_deadline_s(planned: PlannedTime, in_flight: int) -> float:
    """Return a deadline for a list that whoever is at work does not meet; never more than is usual.

    ``in_flight`` is the least that any client has.
    """
    list_s = max(planned.total_s / in_flight, planned.urls * _URL_S) + planned.longest_s
    return min(float(ceil((_START_S + _TIMES * list_s) / _STEP_S) * _STEP_S), USUAL_DEADLINE_S)
