"""Whether two runs were made alike: what of their differences can move their figures."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from httpdyno.judge.wording import some_of
from httpdyno.model import Trial
from httpdyno.store import Difference, Manifest, differences

__all__ = ["instrument_differences", "run_differences"]

_CONDITIONS: Final = (
    "concurrency",
    "urls_given",
    "timeout_ns",
    "link",
    "keepalive",
    "check",
    "http_version",
)
"""What a trial was given. Every record has it, also one from before there was a setting for it."""
_NAMES: Final = {"urls_given": "URLs", "timeout_ns": "timeout", "http_version": "HTTP version"}
_SETTINGS_OF_CONDITIONS: Final = frozenset(
    {"concurrency", "timeout_s", "link", "against", "keepalive", "check", "http_version"}
)


def run_differences(a: Manifest, b: Manifest, trials_a: Sequence[Trial], trials_b: Sequence[Trial]) -> tuple[str, ...]:
    """Describe in what two runs differ that can move their figures, but for the subjects themselves.

    What one of the two does not know (a run may be older than a setting) is no difference.

    One line each, ``kernel: 6.1 in A, 6.12 in B``; of trials, the conditions of those that both have are compared.
    """
    of_runs = (
        difference
        for difference in differences(a, b)
        if difference.part != "instrument"
        and not difference.one_sided
        and not (difference.part == "settings" and difference.name in _SETTINGS_OF_CONDITIONS)
    )
    of_trials = _conditions(trials_a, trials_b, counted=a.urls is None or b.urls is None)
    return tuple(difference.side_by_side for found in (of_runs, of_trials) for difference in found)


def instrument_differences(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Describe in what the instrument differs: an update of httpdyno can move figures, and need not."""
    return tuple(change.side_by_side for change in differences(a, b) if change.part == "instrument")


def _conditions(trials_a: Sequence[Trial], trials_b: Sequence[Trial], *, counted: bool) -> Iterator[Difference]:
    """Compare what the same subjects were given; ``counted`` when nothing else tells of the length of the list."""
    first, second = _given(trials_a), _given(trials_b)
    common = [group for group in first if group in second]
    for place, field in enumerate(_CONDITIONS):
        if field == "urls_given" and not counted:
            continue
        found: dict[tuple[object, object], list[str]] = defaultdict(list)
        for group in common:
            found[first[group][place], second[group][place]].append(group[1])
        for (one, other), subjects in found.items():
            if one != other:
                whose = "" if len(subjects) == len(common) else f" of {some_of(subjects)}"
                yield Difference("trials", _NAMES.get(field, field) + whose, *_shown(field, one, other))


def _given(trials: Sequence[Trial]) -> dict[tuple[str, str], list[object]]:
    """Return the conditions of each subject; those of its first trial: a plan changes none from block to block."""
    given: dict[tuple[str, str], list[object]] = {}
    for trial in trials:
        given.setdefault((trial.condition, trial.subject), [getattr(trial, field) for field in _CONDITIONS])
    return given


def _shown(field: str, *values: object) -> list[object]:
    if field == "timeout_ns":
        return [f"{value / 1e9:g} s" for value in values if isinstance(value, int)]
    return [f"{value:,}" if field == "urls_given" else value for value in values]
