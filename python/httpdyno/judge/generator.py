"""Accuracy of a load generator: the true figures of a server with known behaviour, and the reported ones."""

import heapq
import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from httpdyno.errors import EngineFailed, InvalidValue
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model import ToolReport


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distinct times, ascending, each with the number of times that are not longer."""

    times_ns: tuple[int, ...]
    counts: tuple[int, ...]
    mean_ns: float

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for values that do not form a distribution."""
        for name, values in (("times", self.times_ns), ("counts", self.counts)):
            if any(later < earlier for earlier, later in pairwise(values)):
                raise InvalidValue(f"a distribution whose {name} do not ascend")
        if len(self.times_ns) != len(self.counts):
            raise InvalidValue("a distribution needs a count for each time")

    @property
    def count(self) -> int:
        """Number of times."""
        return self.counts[-1] if self.counts else 0

    def quantile_ns(self, share: float) -> int:
        """Return the shortest time that this share of all times does not exceed.

        0 is the shortest time, 1 the longest; shares outside this range count as the nearer end.
        """
        if not self.counts:
            raise InvalidValue("an empty distribution has no quantiles")
        rank = max(1.0, min(share, 1.0) * self.count)
        # Floating-point noise lifts a rank such as 0.99 * 1000 above its whole number.
        place = bisect_left(self.counts, rank - 1e-6)
        return self.times_ns[min(place, len(self.times_ns) - 1)]

    def later(self, by_ns: int) -> "Distribution":
        """Return the distribution with every time longer by ``by_ns``."""
        return Distribution(tuple(time + by_ns for time in self.times_ns), self.counts, self.mean_ns + by_ns)


def distribution_of(times_ns: Iterable[int]) -> Distribution:
    """Return the distribution of times in any order."""
    found = Counter(times_ns)
    times = tuple(sorted(found))
    counts = tuple(accumulate(found[time] for time in times))
    total = sum(time * count for time, count in found.items())
    return Distribution(times, counts, total / counts[-1] if counts else 0.0)


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """One run of a server with known behaviour, by its own clock."""

    requests: int
    answers: int
    answers_span_ns: int
    """Time from the first arrival to the last answer."""
    connections: int
    """Connections opened to the server."""
    arrived_in_stall: int
    service: Distribution
    """Distribution of the times from the end of a request's arrival to its answer."""
    planned_p99_ns: int
    """99th percentile of the time from a request's arrival to when its answer was due."""
    lateness_p50_ns: int
    lateness_p99_ns: int
    """Time from when an answer was due to when it was sent: median and 99th percentile."""
    waiting_ns: int
    """Time in which another program, or the host of a virtual machine, used its CPU."""


def read_server_record(text: str) -> ServerRecord:
    """Read the report of ``httpdyno-engine calibrator``."""
    try:
        found = json.loads(text)["calibrator"]
        steps = [(int(time_ns), int(count)) for time_ns, count in found["service"]["steps"]]
        times_ns, counts = (tuple(step[place] for step in steps) for place in (0, 1))
        plain = ("requests", "answers", "answers_span_ns", "connections", "arrived_in_stall", "waiting_ns")
        return ServerRecord(
            **{name: int(found[name]) for name in plain},
            service=Distribution(times_ns, counts, float(found["service"]["mean_ns"])),
            planned_p99_ns=int(found["planned"]["p99_ns"]),
            lateness_p50_ns=int(found["lateness"]["p50_ns"]),
            lateness_p99_ns=int(found["lateness"]["p99_ns"]),
        )
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EngineFailed(f"the calibrator's report cannot be read: {error!r}; {RENEW_ENGINE}") from error


_SECOND_NS = 1_000_000_000


Server = Callable[[int], int]
"""A server as a function: maps the arrival time of a request to the time at which its answer is due.

Times are nanoseconds from the first arrival; arrivals must be passed in order.
"""


def stalling_server(service_ns: int, at_ns: int = 0, length_ns: int = 0) -> Server:
    """Serve any number of requests at once, each for the same time; answers due in the stall are sent at its end."""
    end_ns = at_ns + length_ns

    def answer_due_ns(arrived_ns: int) -> int:
        due_ns = arrived_ns + service_ns
        return end_ns if at_ns <= due_ns < end_ns else due_ns

    return answer_due_ns


def queueing_server(service_ns: int) -> Server:
    """Serve one request at a time, each for the same time: the D/1 of queueing theory."""
    free_ns = 0

    def answer_due_ns(arrived_ns: int) -> int:
        nonlocal free_ns
        free_ns = max(arrived_ns, free_ns) + service_ns
        return free_ns

    return answer_due_ns


@dataclass(frozen=True, slots=True)
class Truth:
    """The report of a correct generator."""

    times: Distribution
    """Service times or, on a schedule, response times (from the intended send) of the requests that count."""
    expected: int | None = None
    """Number of requests sent before the end of a schedule."""


def replay(
    server: Server, *, rate_per_s: float, duration_s: float, connections: int, answered: int | None = None
) -> Truth:
    """Simulate a schedule of constant gaps over a number of connections, with one request at a time on each.

    A request that is due takes a free connection or waits for one; its response time counts from its due time in either
    case. ``server`` must be new, because it gets every arrival.

    ``answered`` is the number of answers that the generator counts, which may include requests in flight at the end: at
    least the answers due before the end, at most the whole schedule. None: the answers before the end.
    """
    planned = math.ceil(rate_per_s * duration_s - 1e-9)
    if planned < 1 or connections < 1:
        raise InvalidValue("a schedule needs one request and one connection at least")
    end_ns = round(duration_s * _SECOND_NS)
    free = [0] * connections
    answers: list[tuple[int, int]] = []
    sent = 0
    for number in range(planned):
        intended_ns = round(number * _SECOND_NS / rate_per_s)
        sent_ns = max(intended_ns, free[0])
        due_ns = server(sent_ns)
        heapq.heapreplace(free, due_ns)
        sent += sent_ns < end_ns
        answers.append((due_ns, due_ns - intended_ns))
    answers.sort()
    in_time = sum(due_ns <= end_ns for due_ns, _ in answers)
    counted = max(1, in_time, min(answered or 0, planned))
    return Truth(distribution_of(response_ns for _, response_ns in answers[:counted]), sent)


FIGURES: Final[Mapping[str, float]] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Percentiles to compare with the truth, if a tool reports them."""
RELATIVE: Final = 0.05
"""A figure is right within this share of the truth plus ``allowed_ns``."""
_USUAL_NS: Final = 250_000
_FAR_NS: Final = 1_000_000
_FAR: Final = 0.999
"""Percentile from which a single interruption by the kernel decides the figure."""
LEAST_BEYOND: Final = 10
"""A percentile that fewer requests exceed is printed but not judged: one interruption delays as many requests."""
_LEAST_NS: Final = 1_000
"""Smallest denominator of a factor, so that no factor is infinite."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure."""

    name: str
    """``mean``, ``p99``, ..., or ``sent``: the number of requests."""
    reported: float
    truth: float
    low: float
    """The lowest right value."""
    high: float
    """The highest right value."""

    @property
    def right(self) -> bool:
        """Whether the figure is right, as far as known."""
        return self.low <= self.reported <= self.high

    @property
    def judged(self) -> bool:
        """Whether enough requests support a verdict of wrong."""
        return self.high < math.inf

    @property
    def factor(self) -> float:
        """Factor by which the figure is wrong, 1 or more."""
        least = 1 if self.name == "sent" else _LEAST_NS
        reported, truth = max(self.reported, least), max(self.truth, least)
        return max(reported / truth, truth / reported)

    def __str__(self) -> str:
        """Describe the finding: ``p99 9,300x too low``."""
        if self.right:
            return f"{self.name} right"
        if self.name == "sent":
            return f"sent {self.reported:,.0f} of {self.truth:,.0f} requests"
        digits = sum(self.factor < most for most in _DIGITS_BELOW)
        return f"{self.name} {self.factor:,.{digits}f}x too {'low' if self.reported < self.truth else 'high'}"


_DIGITS_BELOW: Final = (10, 2)
"""Factors below each of these are written with one more decimal."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All figures of one run."""

    findings: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Whether any figure was judged, and all judged figures are right."""
        return any(finding.judged for finding in self.findings) and all(finding.right for finding in self.findings)

    @property
    def worst(self) -> Finding | None:
        """The figure with the largest error; None if all are right."""
        wrong = [finding for finding in self.findings if not finding.right]
        return max(wrong, key=lambda finding: finding.factor, default=None)

    def of(self, name: str) -> Finding | None:
        """Find a figure by name; None if the tool does not report it."""
        return next((finding for finding in self.findings if finding.name == name), None)


def allowed_ns(name: str) -> int:
    """Return the absolute tolerance of a figure: 0.25 ms, and 1 ms from p99.9 on."""
    return _FAR_NS if FIGURES.get(name, 0.0) >= _FAR else _USUAL_NS


def judge_report(
    report: ToolReport, truth: Distribution, *, connections: int, sent: int | None = None, expected: int | None = None
) -> Judgement:
    """Compare a report with the true figures.

    A tool's figures may or may not include requests in flight at the end, at most one for each connection. So a
    percentile is right if it lies between the truth's values at ranks that are lower and higher by that number. A
    percentile that fewer than ``LEAST_BEYOND`` requests exceed is always right. ``truth`` is the distribution of the
    times that the tool claims to measure; ``sent`` and ``expected`` are given if it claims to keep a schedule.
    """
    findings = []
    if sent is not None and expected is not None:
        slack = connections + expected // 100
        findings.append(Finding("sent", sent, expected, expected - slack, expected + slack))
    latency = report.latency
    if latency is None or not truth.count:
        return Judgement(tuple(findings))
    if latency.mean_ns is not None:
        findings.append(_finding("mean", latency.mean_ns, truth.mean_ns, truth.mean_ns, truth.mean_ns))
    ranks = (min(abs(truth.count - report.requests), connections) + 1) / truth.count
    for name, share in FIGURES.items():
        reported = latency.percentiles_ns.get(round(share * 100, 6))
        if reported is None:
            continue
        exact = truth.quantile_ns(share)
        # Rounded: 1000 * (1 - 0.99) is slightly below ten.
        if round((1 - share) * truth.count, 6) < LEAST_BEYOND:
            findings.append(Finding(name, reported, exact, 0.0, math.inf))
            continue
        low, high = truth.quantile_ns(share - ranks), truth.quantile_ns(share + ranks)
        findings.append(_finding(name, reported, exact, low, high))
    return Judgement(tuple(findings))


def _finding(name: str, reported: float, truth: float, low: float, high: float) -> Finding:
    allowed = allowed_ns(name)
    return Finding(name, reported, truth, low * (1 - RELATIVE) - allowed, high * (1 + RELATIVE) + allowed)


_MOST_LATE_P50_NS: Final = 250_000
_MOST_LATE_P99_NS: Final = 2_000_000
"""Tolerated lateness of half of the answers, and of all but one in a hundred: answers that are due at once, as after
a stall, are sent one after another."""
_MOST_LATE_P99_SHARE: Final = 0.02
"""Tolerated lateness as a share of the 99th percentile of the planned times, if that is more: after a stall of a
second a thousand answers may be due."""
_MOST_WAITING_SHARE: Final = 0.02
"""Largest share of time in which the server may lack its CPU: requests that arrive meanwhile are seen late."""
_MOST_FOREIGN_SHARE: Final = 0.05
"""Largest share of time in which other programs may use the generator's CPUs: they would delay any generator."""
_MOST_LOST_SHARE: Final = 0.25
"""If more time was lost than this part of the share beyond a percentile (for a p99: 0.25 %), the figure is not called
wrong: requests of that time, and those behind them, were late through no fault of the generator."""
_NEGLIGIBLE_SHARE: Final = 0.001
"""Lost time below this share may be the start of the program or the kernel's own work."""
_TAKEN: Final = "other programs, or this machine's host, used"
_REMEDY: Final = "stop other programs, use --cpus, or try again later"


def why_not_judged(record: ServerRecord, *, foreign_share: float) -> str | None:
    """Describe why a case cannot be judged; None if it can.

    ``foreign_share`` is the share of the time, 0 to 1, in which other programs used the generator's CPUs.
    """
    if record.answers == 0:
        return "no requests were sent"
    most_p99_ns = max(_MOST_LATE_P99_NS, _MOST_LATE_P99_SHARE * record.planned_p99_ns)
    for share, late_ns, most_ns in (
        ("half of its answers", record.lateness_p50_ns, _MOST_LATE_P50_NS),
        ("one answer in a hundred", record.lateness_p99_ns, most_p99_ns),
    ):
        if late_ns > most_ns:
            return (
                f"the server sent {share} {late_ns / 1e6:.1f} ms late or later ({most_ns / 1e6:.3g} ms are allowed);"
                " keep its CPU free"
            )
    for whose, found, most in (
        ("the server's CPU", _waiting_share(record), _MOST_WAITING_SHARE),
        ("the generator's CPUs", foreign_share, _MOST_FOREIGN_SHARE),
    ):
        if found > most:
            return f"{_TAKEN} {whose} for {found:.0%} of the time ({most:.0%} is allowed); {_REMEDY}"
    return None


def why_not_usable(judgement: Judgement, record: ServerRecord, *, foreign_share: float) -> str | None:
    """Describe why wrong figures are inconclusive; None if none is wrong, or one is conclusive.

    ``foreign_share``: see ``why_not_judged``.
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
    """Return the share of lost time up to which a figure can be called wrong."""
    return max(_NEGLIGIBLE_SHARE, _MOST_LOST_SHARE * (1 - FIGURES.get(figure, 0.0)))


def _waiting_share(record: ServerRecord) -> float:
    return record.waiting_ns / max(record.answers_span_ns, 1)
