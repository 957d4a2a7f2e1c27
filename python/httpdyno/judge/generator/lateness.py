"""Whether server and generator had their CPUs: if not, nobody is judged, or nobody is called wrong."""

from typing import Final

from httpdyno.judge.generator.finding import FIGURES, Judgement
from httpdyno.judge.generator.record import ServerRecord

__all__ = [
    "MOST_FOREIGN_SHARE",
    "MOST_LATE_P50_NS",
    "MOST_LATE_P99_NS",
    "MOST_LATE_P99_SHARE",
    "MOST_LOST_SHARE",
    "MOST_WAITING_SHARE",
    "TOLD_SHARE",
    "why_not_judged",
    "why_not_usable",
]

MOST_LATE_P50_NS: Final = 250_000
MOST_LATE_P99_NS: Final = 2_000_000
"""Half of the answers, and all but one in a hundred, may be this late: those that are due at once, as after a stall,
are given one after the other."""
MOST_LATE_P99_SHARE: Final = 0.02
"""Or this share of the 99th percentile of what answers were to take, where that is more: after a stall of a second
there may be a thousand to give."""
MOST_WAITING_SHARE: Final = 0.02
"""The server may lack its CPU for this share of the time: a request that arrives meanwhile is seen late."""
MOST_FOREIGN_SHARE: Final = 0.05
"""Other work may have the generator's CPUs for this share of the time: it would make any generator late."""
MOST_LOST_SHARE: Final = 0.25
"""With more of the time lost than this part of what a percentile leaves, it is not called wrong (of a p99: 0.25 %):
what came meanwhile was late, with what waited behind it, and that is no generator's fault."""
TOLD_SHARE: Final = 0.001
"""Less lost time than this is not told from a program's start and the kernel's own work."""
_TAKEN: Final = "other work, or this machine's host, had"
_REMEDY: Final = "end that work, use --cpus, or try again later"


def why_not_judged(record: ServerRecord, *, foreign_share: float) -> str | None:
    """Describe why a case is worth nothing; None when it is worth something.

    ``foreign_share`` is the part of the time, 0 to 1, for which somebody else had the generator's CPUs.
    """
    if record.answers == 0:
        return "no answer was asked for"
    most_p99_ns = max(MOST_LATE_P99_NS, MOST_LATE_P99_SHARE * record.planned_p99_ns)
    for share, late_ns, most_ns in (
        ("half of its answers", record.lateness_p50_ns, MOST_LATE_P50_NS),
        ("one answer in a hundred", record.lateness_p99_ns, most_p99_ns),
    ):
        if late_ns > most_ns:
            return (
                f"the server gave {share} {late_ns / 1e6:.1f} ms late or later ({most_ns / 1e6:.3g} ms are allowed);"
                " leave it its CPU"
            )
    for whose, found, most in (
        ("the server's CPU", _waiting_share(record), MOST_WAITING_SHARE),
        ("the generator's CPUs", foreign_share, MOST_FOREIGN_SHARE),
    ):
        if found > most:
            return f"{_TAKEN} {whose} for {found:.0%} of the time ({most:.0%} is allowed); {_REMEDY}"
    return None


def why_not_usable(judgement: Judgement, record: ServerRecord, *, foreign_share: float) -> str | None:
    """Describe why figures that are wrong prove nothing; None when none is wrong, or one of them does.

    ``foreign_share`` is as for ``why_not_judged``.
    """
    lost_share = _waiting_share(record) + foreign_share
    wrong = [finding.name for finding in judgement.findings if not finding.right]
    if not wrong or any(lost_share <= _most_lost_share(name) for name in wrong):
        return None
    return (
        f"its {' and '.join(wrong)} would be wrong, but {_TAKEN} the generator's CPUs and the server's for"
        f" {lost_share:.2%} of the time ({_most_lost_share(wrong[0]):.2%} is allowed for that); {_REMEDY}"
    )


def _most_lost_share(figure: str) -> float:
    """Return how much lost time leaves a figure as it is; a mean is a percentile that leaves everything."""
    return max(TOLD_SHARE, MOST_LOST_SHARE * (1 - FIGURES.get(figure, 0.0)))


def _waiting_share(record: ServerRecord) -> float:
    return record.waiting_ns / max(record.answers_span_ns, 1)
