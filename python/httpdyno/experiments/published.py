"""Comparison of a run with a published table, and the circumstances of the run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from httpdyno.errors import UsageError
from httpdyno.experiments.definition import Definition
from httpdyno.model import LIVE, Table, Trial, counted, format_size
from httpdyno.published import Circumstances, PublishedTable, find_preset
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.store import Manifest, Run


def preset_of(manifest: Manifest) -> PublishedTable | None:
    """Return the published table of a run's preset; None without a preset."""
    name = manifest.settings.get("preset")
    return find_preset(name, manifest.experiment) if isinstance(name, str) else None


def circumstances_of(manifest: Manifest, trials: Sequence[Trial]) -> Circumstances:
    """Return the circumstances of a run; its trials give the CPUs and memory of subjects."""
    settings = manifest.settings
    peer, timeout_s, deadline_s = (settings.get(name) for name in ("peer", "timeout_s", "deadline_s"))
    there = f"{settings['against']}, another machine" if settings.get("against") else "the same machine"
    webs = [
        "the live internet" if web.name == LIVE else f"{web.name}, seed {web.seed}: a model, served by {there}"
        for web in manifest.webs
    ]
    machine = manifest.machine
    parts = (
        machine.cpu,
        None if machine.cpus is None else counted(machine.cpus, "CPU"),
        machine.architecture,
        None if machine.memory_bytes is None else f"{format_size(machine.memory_bytes)} RAM",
        f"{machine.system} {machine.kernel}",
        *_share(trials),
    )
    return Circumstances(
        machine=", ".join(filter(None, parts)),
        web=f"the server {peer}, on the same machine" if peer else "; ".join(webs),
        web_names=tuple(web.name for web in manifest.webs),
        timeout_s=timeout_s if isinstance(timeout_s, int | float) else None,
        deadline_s=deadline_s if isinstance(deadline_s, int | float) else None,
        versions={subject.id: subject.version for subject in manifest.subjects if subject.version},
    )


def compare_run(run: Run, definition: Definition, published: PublishedTable, *, for_programs: bool = False) -> Table:
    """Compare a run with a published table: one row for each subject for programs, lines for people."""
    experiment = run.manifest.experiment
    if experiment != published.experiment:
        raise UsageError(
            f"{run.folder.name} is a run of {experiment}, the published table {published.name} is of"
            f" {published.experiment}; name another table, see: httpdyno published"
        )
    trials = run.records()
    here = circumstances_of(run.manifest, trials)
    table = definition.presentation.compare_with_published(
        run.manifest, trials, published, here, for_programs=for_programs
    )
    return replace(table, notes=(*table_reservations(run.manifest, trials), *table.notes))


def compare_preset_run(run: Run, definition: Definition) -> Table | None:
    """Compare the run of a preset with the preset's table; None for any other run."""
    published = preset_of(run.manifest)
    return None if published is None else compare_run(run, definition, published)


def _share(trials: Sequence[Trial]) -> Iterator[str]:
    """Describe the CPUs and memory of each subject; empty if they differ between trials."""
    counters = [trial.counters for trial in trials if trial.counters.cpus]
    cpus = {sum(cpu.role != "engine" for cpu in one.cpus or ()) for one in counters}
    memory = {one.memory_limit_bytes if one.memory_limit_enforced_by else None for one in counters}
    given = [counted(count, "CPU") for count in cpus if len(cpus) == 1]
    given += [format_size(size) for size in memory if size is not None and len(memory) == 1]
    if given:
        yield f"of these {' and '.join(given)} for the subject"
