"""Whether a load generator tells the truth: what it should report of a server with known behaviour, and what it did."""

from httpdyno.judge.generator.distribution import Distribution
from httpdyno.judge.generator.finding import FIGURES, LEAST_BEYOND, RELATIVE, Judgement, allowed_ns, judge_report
from httpdyno.judge.generator.lateness import why_not_judged, why_not_usable
from httpdyno.judge.generator.record import ServerRecord, read_server_record
from httpdyno.judge.generator.schedule import Queue, Server, Stalling, replay

__all__ = [
    "FIGURES",
    "LEAST_BEYOND",
    "RELATIVE",
    "Distribution",
    "Judgement",
    "Queue",
    "Server",
    "ServerRecord",
    "Stalling",
    "allowed_ns",
    "judge_report",
    "read_server_record",
    "replay",
    "why_not_judged",
    "why_not_usable",
]
