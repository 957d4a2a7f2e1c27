"""Rate of several machines: it grows with their number until something that all of them share is used up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, nan

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.judge.machine_plan import AnswerFigures, Estimate, Load, Machine, Resource, plan_machines


class SharedLimit(StrEnum):
    """What all machines share."""

    LINK = "shared link"
    NAMES = "name servers"
    DOMAIN = "largest domain"


@dataclass(frozen=True, slots=True)
class Shared:
    """Size of what all machines share; None: it does not run out."""

    bandwidth_bits_per_s: float | None = None
    """Towards all machines together."""
    queries_per_s: float | None = None
    """Queries that the name servers answer."""
    largest_domain: float | None = None
    """Share of the URLs that belong to the largest registered domain, above 0 and at most 1."""
    domain_interval_s: float | None = None
    """Time between two requests of a domain; one domain belongs to one machine."""


@dataclass(frozen=True, slots=True)
class ScalePlan:
    """Rate of any number of equal machines, in right answers a second."""

    of_one: Estimate
    """Rate of one machine that is fully used."""
    limit_of_one: Resource
    """What runs out first in a machine."""
    ceilings: Mapping[SharedLimit, Estimate]
    """The rate at which each shared thing is used up, the lowest first."""

    @property
    def ceiling(self) -> Estimate | None:
        """Return the highest rate of any number of machines; None: nothing shared is limited."""
        return next(iter(self.ceilings.values()), None)

    def rate(self, machines: int) -> Estimate:
        """Return the rate of some machines."""
        bounds = [_times(self.of_one, machines), *self.ceilings.values()]
        low, high = (min(getattr(bound, end) for bound in bounds) for end in ("low", "high"))
        nearest = min(bounds, key=lambda bound: bound.value)
        return Estimate(nearest.value, low, high, nearest.level)

    def limit(self, machines: int) -> Resource | SharedLimit:
        """Return what limits the rate of some machines."""
        for limit, ceiling in self.ceilings.items():
            if ceiling.value < machines * self.of_one.value:
                return limit
            break
        return self.limit_of_one

    def machines(self, rate_per_s: float) -> int | None:
        """Return the machines that a rate requires; None if no number of them reaches it."""
        if self.ceiling is not None and self.ceiling.value < rate_per_s:
            return None
        return self._machines(rate_per_s)

    @property
    def reached(self) -> Mapping[SharedLimit, int]:
        """Return for each ceiling the number of machines from which it limits, if no lower one did before."""
        return {limit: self._machines(ceiling.value) for limit, ceiling in self.ceilings.items()}

    def _machines(self, rate_per_s: float) -> int:
        # Rounded, so that 3.0000000000000004 machines are three.
        return max(1, ceil(round(rate_per_s / self.of_one.value, 9)))


def parse_share(text: str) -> float:
    """Read the share of the largest domain, such as ``0.1%`` or ``0.001``.

    Raises
    ------
    InvalidValue
        If it is no number, not above 0, or above 100 %.
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = nan
    if not 0 < share <= 1:
        raise InvalidValue(f"--largest-domain: {text[:60]!r} is not a share above 0 and at most 1; write it like 0.1%")
    return share


def plan_scale(trials: Sequence[AnswerFigures], load: Load, machine: Machine, shared: Shared) -> ScalePlan:
    """Plan several machines for one client.

    A machine's rate is the load over the machines that its scarcest resource requires for the load (`plan_machines`). A
    shared link ends at its bandwidth over the bytes of an answer, name servers at their rate over the queries of an
    answer, and the largest domain, whose requests follow one another in the interval, at 1 / (interval x its share x
    requests of an answer). The rate of n machines is the least of these and n times the rate of one: this is the upper
    bound of asymptotic analysis, without the queue before a resource that is nearly used up.

    Raises
    ------
    UsageError
        If the name servers are limited and a trial has not counted its queries.

    References
    ----------
    Denning and Buzen, The operational analysis of queueing network models, Computing Surveys 10 (1978): bottlenecks.
    """
    plan = plan_machines(trials, load, machine)
    share, rate = plan.shares[plan.limit], load.rate_per_s
    of_one = Estimate(rate / share.value, rate / share.high, rate / share.low, share.level)
    ceilings = {}
    if shared.bandwidth_bits_per_s is not None:
        sizes = [load.answer_bytes or trial.received_bytes for trial in trials]
        ceilings[SharedLimit.LINK] = Estimate.of([shared.bandwidth_bits_per_s / (8 * size) for size in sizes])
    if shared.queries_per_s is not None:
        queries = [trial.queries for trial in trials]
        if None in queries:
            raise UsageError(
                "--name-servers: the run has not counted the queries of an answer; measure them with: httpdyno bench"
                " CLIENT, and name that run: --from latest"
            )
        if rates := [shared.queries_per_s / count for count in queries if count]:
            ceilings[SharedLimit.NAMES] = Estimate.of(rates)
    if shared.largest_domain is not None and shared.domain_interval_s is not None:
        of_domain = [shared.domain_interval_s * shared.largest_domain * trial.requests for trial in trials]
        ceilings[SharedLimit.DOMAIN] = Estimate.of([1 / seconds for seconds in of_domain])
    return ScalePlan(of_one, plan.limit, dict(sorted(ceilings.items(), key=lambda item: item[1].value)))


def _times(estimate: Estimate, factor: int) -> Estimate:
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor, estimate.level)
