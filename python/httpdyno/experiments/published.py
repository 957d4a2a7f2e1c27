"""A run beside what was published: what a manifest tells of how its figures came about, and the tables of both."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.definition import Definition
from httpdyno.model import LIVE, Table, Trial, format_size
from httpdyno.published import Circumstances, PublishedTable, Workload, beside, find_preset, stacked
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.store import Machine, Manifest, Run, WebIdentity

__all__ = ["PRESET_SETTING", "SCALE_SETTING", "circumstances_of", "published_beside", "run_beside"]

PRESET_SETTING: Final = "preset"
"""The setting of a manifest that names the preset of the run; absent or None when there was none."""
SCALE_SETTING: Final = "scale"
"""The setting that says which share of a preset it was, where its points depend on that; absent or None: all of it."""
PEER_SETTING: Final = "peer"
"""The setting that names the server that answered in place of a web; absent or None: a web did."""
AGAINST_SETTING: Final = "against"
"""The setting that names the origin of another machine; absent or None: the web was played on this one."""
_ENGINE: Final = "engine"


def circumstances_of(manifest: Manifest, trials: Sequence[Trial]) -> Circumstances:
    """Return how the figures of a run came about.

    Parameters
    ----------
    manifest : Manifest
        Of the run.
    trials : sequence of Trial
        Of the same run: they say what of the machine a subject was given.
    """
    settings = manifest.settings
    peer = settings.get(PEER_SETTING)
    return Circumstances(
        machine=", ".join([_machine(manifest.machine), *_share(trials)]),
        web=f"the server {peer}, on the same machine"
        if peer
        else "; ".join(_web(web, settings.get(AGAINST_SETTING)) for web in manifest.webs),
        web_names=tuple(web.name for web in manifest.webs),
        workload=Workload(
            timeout_s=_seconds(settings.get("timeout_s")), deadline_s=_seconds(settings.get("deadline_s"))
        ),
        versions={subject.id: subject.version for subject in manifest.subjects if subject.version},
    )


def run_beside(run: Run, definition: Definition, published: PublishedTable, *, for_programs: bool = False) -> Table:
    """Put a run beside a published table.

    Parameters
    ----------
    run : Run
        Of the experiment that the table answers.
    definition : Definition
        Of the run's experiment.
    published : PublishedTable
        What it is held against.
    for_programs : bool
        A row for each subject with all columns, instead of lines that people can read.

    Raises
    ------
    UsageError
        If the run is of another experiment.
    UnreadableRun
        If a trial is damaged.
    """
    experiment = run.manifest.experiment
    if experiment != published.experiment:
        raise UsageError(
            f"{run.folder.name} is a run of {experiment}, the published table {published.name} is one of"
            f" {published.experiment}; name another table, see: httpdyno published"
        )
    trials = run.records()
    here = circumstances_of(run.manifest, trials)
    if definition.beside is not None:
        table = definition.beside(run.manifest, trials, published, here)
    else:
        put = beside if for_programs else stacked
        table = put(definition.table(trials), published, here)
    return replace(table, notes=(*table_reservations(run.manifest, trials), *table.notes))


def published_beside(run: Run, definition: Definition) -> Table | None:
    """Put a run that was made with a preset beside the table of its preset; None for any other run.

    Raises
    ------
    UnknownName
        If this version does not know the preset.
    UnreadableRun
        If a trial is damaged.
    """
    name = run.manifest.settings.get(PRESET_SETTING)
    if not isinstance(name, str):
        return None
    return run_beside(run, definition, find_preset(name, definition.name).table)


def _machine(machine: Machine) -> str:
    parts = (
        machine.cpu,
        None if machine.cpus is None else _cpus(machine.cpus),
        machine.architecture,
        None if machine.memory_bytes is None else f"{format_size(machine.memory_bytes)} RAM",
        f"{machine.system} {machine.kernel}",
    )
    return ", ".join(part for part in parts if part)


def _cpus(count: int) -> str:
    return "1 CPU" if count == 1 else f"{count} CPUs"


def _share(trials: Sequence[Trial]) -> Iterator[str]:
    """Describe which CPUs and how much memory each subject had; nothing where that differs from trial to trial."""
    cpus = {sum(cpu.role != _ENGINE for cpu in trial.counters.cpus) for trial in trials if trial.counters.cpus}
    memory = {
        trial.counters.memory_limit_bytes if trial.counters.memory_limit_enforced_by else None
        for trial in trials
        if trial.counters.cpus
    }
    given = [_cpus(count) for count in cpus if len(cpus) == 1]
    given += [format_size(size) for size in memory if size is not None and len(memory) == 1]
    if given:
        yield f"of these {' and '.join(given)} for the subject"


def _web(web: WebIdentity, against: object) -> str:
    if web.name == LIVE:
        return "the live internet"
    where = f"{against}, another machine" if against else "the same machine"
    return f"{web.name}, seed {web.seed}: a model, played to the client by {where}"


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
