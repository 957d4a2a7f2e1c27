"""The search for the best concurrency (``tune``)."""

from typing import Final

from httpdyno.experiments.definition import Definition, Planning
from httpdyno.experiments.tune.options import NAME
from httpdyno.experiments.tune.plan import Tune, begin_search, end_search
from httpdyno.experiments.tune.present import PRESENTATION

DEFINITION: Final = Definition(
    NAME,
    "How many requests in flight give the most right answers a second, without more errors or late answers?",
    PRESENTATION,
    Planning(begin_search, Tune.restore, end_search),
)
