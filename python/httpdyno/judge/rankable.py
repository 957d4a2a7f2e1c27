"""Selects the trials of a subject that count for a figure, and those that were disturbed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from httpdyno.judge.validity import broken_names, spoiled_aspects
from httpdyno.model import Aspect, Metric, Outcome, Trial, Validity

_ON_THE_CPU: Final = frozenset({"origin_waiting"})
"""Rules about the use of the origin's CPU by another program, or by a client that shares it."""
_BY_OTHERS: Final = frozenset({"throttling", "steal", "foreign_cpu", "memory_pressure", "io_pressure"})
"""Rules about other programs on the machine."""
_CAUSES: Final = {"steal": "the hypervisor", "throttling": "a CPU quota"}
"""Causes other than programs, by the broken rule."""
_DISTURBED: Final = frozenset({Validity.DISTURBED, Validity.UNSTEADY, Validity.ORIGIN_LIMITED})
"""Validities of disturbed trials; the last two are those of version 0.1."""
_FOLLOWS: Final = frozenset({"origin_cpu_busy", "origin_lateness", "drift"})
"""Validities that both kinds of rules can cause, but other reasons as well."""


def disturbed(trial: Trial) -> bool:
    """Return whether a trial was successful, and is invalid only because of other programs."""
    broken = _broken(trial)
    by_others = _BY_OTHERS if _shares_a_cpu(trial) else _BY_OTHERS | _ON_THE_CPU
    return bool(broken & by_others) and broken <= _BY_OTHERS | _ON_THE_CPU | _FOLLOWS


def disturbing_causes(trial: Trial) -> tuple[str, ...]:
    """Return the causes of disturbance other than programs: the hypervisor, a CPU quota."""
    broken = _broken(trial)
    return tuple(cause for rule, cause in _CAUSES.items() if rule in broken)


def crowded(trial: Trial) -> bool:
    """Return whether a trial was successful, and is invalid only because client and origin shared a CPU."""
    return _shares_a_cpu(trial) and bool(broken := _broken(trial)) and broken <= _ON_THE_CPU | _FOLLOWS


def _broken(trial: Trial) -> frozenset[str]:
    """Return the broken rules of a trial; empty if it failed, or has a validity that is worse."""
    if trial.outcome is not Outcome.OK or trial.validity not in _DISTURBED:
        return frozenset()
    return frozenset(broken_names(trial))


def _shares_a_cpu(trial: Trial) -> bool:
    return any(cpu.role == "both" for cpu in trial.counters.cpus or ())


_NOT_ITS_FAULT: Final = frozenset({Outcome.OK, Outcome.INTERRUPTED, Outcome.REFUSED})
"""Outcomes of a trial that are not its subject's fault."""
_AGAINST_ALL: Final = frozenset({Validity.INCORRECT, Validity.UNVERIFIED})
"""Validities of one trial that apply to all trials of the subject: wrong or unverifiable answers."""


def rankable_trials(trials: Sequence[Trial], aspect: Aspect = Aspect.PACE) -> tuple[Trial, ...]:
    """Return the trials that count for an aspect: successful ones, without a broken rule that affects it.

    A disturbed trial is repeated in its block; if several trials of one block and condition count, the last one is
    returned.
    """
    return _last_of_blocks(t for t in trials if t.outcome is Outcome.OK and aspect not in spoiled_aspects(t))


def rankable(trials: Sequence[Trial], aspect: Aspect = Aspect.PACE) -> bool:
    """Return whether enough trials of a subject count for it to be ranked.

    One failed or incorrect trial excludes the subject, because the figures would otherwise be too good. Trials that the
    machine spoiled (a busy origin, a drift, an interruption) do not exclude it, if more than half of its blocks have a
    trial that counts. ``trials`` are all trials of the subject under one condition.
    """
    return _blameless(trials) and _in_most_blocks(rankable_trials(trials, aspect), trials)


def placing_trials(
    trials: Sequence[Trial], aspect: Aspect = Aspect.PACE, *, provisional: bool = True
) -> tuple[Trial, ...]:
    """Return the trials that determine a subject's place in the ranking; empty if it has no place.

    These are the trials that count, if the subject may be ranked by them. ``provisional``: if too few trials count only
    because other programs disturbed them, or because the origin shared its CPU, these are added in blocks without a
    trial that counts.
    """
    count = rankable_trials(trials, aspect)
    if rankable(trials, aspect):
        return count
    if not provisional or not _blameless(trials):
        return ()
    blocks = {(trial.condition, trial.block) for trial in count}
    spoiled = [t for t in trials if (t.condition, t.block) not in blocks and (disturbed(t) or crowded(t))]
    found = _last_of_blocks(sorted([*count, *spoiled], key=lambda trial: trial.trial))
    return found if _in_most_blocks(found, trials) else ()


def counting_trials(
    trials: Sequence[Trial], aspect: Aspect = Aspect.PACE, *, disturbed: bool = False
) -> Sequence[Trial]:
    """Return the trials from which the figures of a subject are computed: those that count, else all successful ones.

    ``disturbed``: if too few count, also those that other programs disturbed (``placing_trials``).
    """
    placing = placing_trials(trials, aspect, provisional=disturbed)
    return placing or [trial for trial in trials if trial.outcome is Outcome.OK]


def verdict_of(trials: Sequence[Trial], *, disturbed: bool = False) -> str:
    """Return the failure of a subject's trials in one word, else the worst validity of its rates.

    It is empty if there are none. ``disturbed``: see ``counting_trials``.
    """
    failed = [(trial.validity or trial.outcome).value for trial in trials if trial.outcome is not Outcome.OK]
    if failed and not rankable(trials):
        return Counter(failed).most_common(1)[0][0]
    return worst_validity(counting_trials(trials, disturbed=disturbed)) or ""


def worst_validity(trials: Iterable[Trial]) -> Validity | None:
    """Return the worst validity of trials; None if there is none. ``Validity`` lists them from good to bad."""
    order = list(Validity)
    found = [trial.validity for trial in trials if trial.validity]
    return max(found, key=order.index) if found else None


def _last_of_blocks(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    return tuple({(trial.condition, trial.block): trial for trial in trials}.values())


def _in_most_blocks(some: Iterable[Trial], trials: Iterable[Trial]) -> bool:
    blocks, every = ({(trial.condition, trial.block) for trial in those} for those in (some, trials))
    return 2 * len(blocks) > len(every)


def _blameless(trials: Iterable[Trial]) -> bool:
    return all(trial.outcome in _NOT_ITS_FAULT and trial.validity not in _AGAINST_ALL for trial in trials)


Group = tuple[str, str]
"""A condition and a subject."""


def grouped(trials: Iterable[Trial]) -> dict[Group, list[Trial]]:
    """Group trials by condition and subject, in order of appearance."""
    groups: dict[Group, list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.condition, trial.subject), []).append(trial)
    return groups


def figures_by_block(trials: Sequence[Trial], metric: Metric, *, disturbed: bool = False) -> dict[int, float]:
    """Return the figure of each trial that counts, by its block; empty if the subject may not be ranked.

    ``trials`` are all trials of one subject under one condition. Trials without the figure are left out, unless that
    means that the figure was infinite (``Metric.endless``): then the result is empty. ``disturbed``: if too few trials
    count, also those that other programs disturbed (``judge.placing_trials``).
    """
    placing = placing_trials(trials, metric.aspect, provisional=disturbed)
    figures = {trial.block: metric.figure(trial) for trial in placing}
    if metric.endless and None in figures.values():
        return {}
    return {block: float(figure) for block, figure in figures.items() if figure is not None}
