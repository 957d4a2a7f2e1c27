"""A run beside what was published: what a manifest tells of how its figures came about, and the tables of both."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.definition import Definition
from httpdyno.model import LIVE, Table, Trial, counted, format_size
from httpdyno.published import Circumstances, PublishedTable, find_preset, side_by_side, stacked
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.store import Machine, Manifest, Run, WebIdentity

__all__ = ["preset_of", "published_beside", "run_beside"]

_ENGINE: Final = "engine"


def preset_of(manifest: Manifest) -> PublishedTable | None:
    """Return what a run measures again; None when it was made without a preset."""
    name = manifest.settings.get("preset")
    return find_preset(name, manifest.experiment) if isinstance(name, str) else None


def _circumstances(manifest: Manifest, trials: Sequence[Trial]) -> Circumstances:
    """Return how the figures of a run came about; its trials say what of the machine a subject was given."""
    settings = manifest.settings
    peer, timeout_s, deadline_s = (settings.get(name) for name in ("peer", "timeout_s", "deadline_s"))
    webs = [_web(web, settings.get("against")) for web in manifest.webs]
    return Circumstances(
        machine=", ".join([_machine(manifest.machine), *_share(trials)]),
        web=f"the server {peer}, on the same machine" if peer else "; ".join(webs),
        web_names=tuple(web.name for web in manifest.webs),
        timeout_s=timeout_s if isinstance(timeout_s, int | float) else None,
        deadline_s=deadline_s if isinstance(deadline_s, int | float) else None,
        versions={subject.id: subject.version for subject in manifest.subjects if subject.version},
    )


def run_beside(run: Run, definition: Definition, published: PublishedTable, *, for_programs: bool = False) -> Table:
    """Put a run beside a published table: for programs with a row for each subject, for people in lines."""
    experiment = run.manifest.experiment
    if experiment != published.experiment:
        raise UsageError(
            f"{run.folder.name} is a run of {experiment}, the published table {published.name} is one of"
            f" {published.experiment}; name another table, see: httpdyno published"
        )
    trials = run.records()
    here = _circumstances(run.manifest, trials)
    if definition.beside is not None:
        table = definition.beside(run.manifest, trials, published, here)
    else:
        table = (side_by_side if for_programs else stacked)(definition.table(trials), published, here)
    return replace(table, notes=(*table_reservations(run.manifest, trials), *table.notes))


def published_beside(run: Run, definition: Definition) -> Table | None:
    """Put a run that was made with a preset beside the table of its preset; None for any other run."""
    published = preset_of(run.manifest)
    return None if published is None else run_beside(run, definition, published)


def _machine(machine: Machine) -> str:
    parts = (
        machine.cpu,
        None if machine.cpus is None else counted(machine.cpus, "CPU"),
        machine.architecture,
        None if machine.memory_bytes is None else f"{format_size(machine.memory_bytes)} RAM",
        f"{machine.system} {machine.kernel}",
    )
    return ", ".join(part for part in parts if part)


def _share(trials: Sequence[Trial]) -> Iterator[str]:
    """Describe which CPUs and how much memory each subject had; nothing where that differs from trial to trial."""
    counters = [trial.counters for trial in trials if trial.counters.cpus]
    cpus = {sum(cpu.role != _ENGINE for cpu in one.cpus or ()) for one in counters}
    memory = {one.memory_limit_bytes if one.memory_limit_enforced_by else None for one in counters}
    given = [counted(count, "CPU") for count in cpus if len(cpus) == 1]
    given += [format_size(size) for size in memory if size is not None and len(memory) == 1]
    if given:
        yield f"of these {' and '.join(given)} for the subject"


def _web(web: WebIdentity, against: object) -> str:
    if web.name == LIVE:
        return "the live internet"
    where = f"{against}, another machine" if against else "the same machine"
    return f"{web.name}, seed {web.seed}: a model, played to the client by {where}"
