"""Whether two runs were made alike: in what their machines, webs, lists and settings differ."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from httpdyno.model import Trial, format_size
from httpdyno.store import Machine, Manifest

__all__ = ["instrument_differences", "run_differences"]

_MACHINE: Final = (
    "system",
    "kernel",
    "architecture",
    "cpu",
    "cpus",
    "virtualisation",
    "governor",
    "clock_source",
)
_SAME_MEMORY: Final = 0.01
"""Share by which the memory of one machine may differ from boot to boot: a kernel keeps some for itself."""
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
_HARMLESS_SETTINGS: Final = frozenset({"repeat", "quick", "preset"})
"""They say how much was measured, or are a name for other settings: nothing that moves a figure by itself."""
_NAMED_AT_MOST: Final = 3


def run_differences(a: Manifest, b: Manifest, trials_a: Sequence[Trial], trials_b: Sequence[Trial]) -> tuple[str, ...]:
    """Describe in what two runs differ that can move their figures, but for the subjects themselves.

    What one of the two does not know (a run may be older than a setting) is no difference.

    Parameters
    ----------
    a, b : Manifest
        Of either run.
    trials_a, trials_b : sequence of Trial
        Of either run; the conditions of those that both have are compared.

    Returns
    -------
    tuple of str
        One for each difference: ``kernel: 6.1 in A, 6.12 in B``. Empty when they were made alike.
    """
    return (
        *_machine(a.machine, b.machine),
        *_webs(a, b),
        *_list(a, b),
        *_conditions(trials_a, trials_b, counted=a.urls is None or b.urls is None),
        *_settings(a.settings, b.settings),
    )


def instrument_differences(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Describe in what the instrument differs: an update of httpdyno can move figures, and need not."""
    found = [] if a.version == b.version else [_difference("httpdyno", a.version, b.version)]
    if a.engine and b.engine and a.engine.sha256 != b.engine.sha256:
        found.append("the engine is another build")
    return tuple(found)


def _machine(a: Machine, b: Machine) -> Iterator[str]:
    for field in _MACHINE:
        if getattr(a, field) != getattr(b, field):
            yield _difference(field.replace("_", " "), getattr(a, field), getattr(b, field))
    if _other_memory(a.memory_bytes, b.memory_bytes):
        sizes = [None if size is None else format_size(size) for size in (a.memory_bytes, b.memory_bytes)]
        yield _difference("memory", *sizes)
    for name in sorted(a.sysctls.keys() & b.sysctls.keys()):
        if a.sysctls[name] != b.sysctls[name]:
            yield _difference(name, *(" ".join(machine.sysctls[name].split()) for machine in (a, b)))


def _other_memory(a: int | None, b: int | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > _SAME_MEMORY * max(a, b)


def _webs(a: Manifest, b: Manifest) -> Iterator[str]:
    if len(a.webs) != len(b.webs):
        yield _difference("webs", *(", ".join(web.name for web in manifest.webs) or "none" for manifest in (a, b)))
        return
    for first, second in zip(a.webs, b.webs, strict=True):
        known = first.digest is not None and second.digest is not None
        if known and first.digest == second.digest:
            continue  # the same file of a model may have moved
        if first.name != second.name:
            yield _difference("web", first.name, second.name)
        elif first.seed != second.seed:
            yield _difference(f"seed of the web {first.name}", first.seed, second.seed)
        elif known:
            yield f"the web {first.name} has another model"


def _list(a: Manifest, b: Manifest) -> Iterator[str]:
    if not a.urls or not b.urls or a.urls.sha256 == b.urls.sha256:
        return
    if a.urls.count != b.urls.count:
        yield _difference("URLs", f"{a.urls.count:,}", f"{b.urls.count:,}")
    else:
        yield f"the {a.urls.count:,} URLs are others"


def _conditions(trials_a: Sequence[Trial], trials_b: Sequence[Trial], *, counted: bool) -> Iterator[str]:
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
                whose = "" if len(subjects) == len(common) else f" of {_some(subjects)}"
                yield _difference(_NAMES.get(field, field.replace("_", " ")) + whose, *_shown(field, one, other))


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


def _settings(a: Mapping[str, object], b: Mapping[str, object]) -> Iterator[str]:
    for name in sorted((a.keys() & b.keys()) - _SETTINGS_OF_CONDITIONS - _HARMLESS_SETTINGS):
        if a[name] != b[name]:
            yield _difference(name.replace("_", " "), a[name], b[name])


def _difference(what: str, a: object, b: object) -> str:
    first, second = ("unset" if value is None or value == "" else value for value in (a, b))
    return f"{what}: {first} in A, {second} in B"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
