"""Artifacts of a run: keep them during the run, and judge them again later."""

import hashlib
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import polars as pl
from pydantic import TypeAdapter

from httpdyno.errors import NothingMeasured, UnknownName, UnreadableRun, UsageError, suggestion
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Circumstances, JudgedTrial
from httpdyno.lab.client_trial import LINES, add_lines
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import judge_trial
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.lab.web_answers import Answers, read_answers
from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Outcome,
    SubjectKind,
    Table,
    Trial,
    TrialPlan,
    UrlSeries,
    Validity,
    figures_of,
    flatten,
)
from httpdyno.model.record import read_figures
from httpdyno.store import Run
from httpdyno.store.files import compressed, storing, unpack, write_whole
from httpdyno.store.folder import ARTIFACTS, artifacts_of
from httpdyno.store.writer import replace_records

_FASTEST: Final = 1
_PIECE: Final = 1 << 20
KEPT: Final = ("all", "failed", "none")
"""Trials whose artifacts a run keeps."""
_MOST_BYTES: Final = 64 << 20
_PACKED: Final = 8
"""Files larger than this multiple of the space left do not fit, even compressed."""
_PLAN, _VALUES, _REPORT = "plan.json", "values.json", "report.json"
_STREAMS: Final = ("stdout", "stderr", "arrivals", "driver_output")
_NAMES: Final = ("version", "parser", "round_trip_ns", "said")


def check_artifacts(kept: str) -> None:
    """Raise ``UnknownName`` unless ``kept`` is one of ``KEPT``."""
    if kept not in KEPT:
        raise UnknownName(f"--artifacts: there is no {kept!r}; {suggestion(kept, KEPT)}")


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@dataclass(slots=True)
class ArtifactKeeper:
    """Keeper of artifacts in the folder of a run, up to 64 MiB."""

    folder: Path
    kept: str = "all"
    """One of ``KEPT``."""
    left_bytes: int = -1
    """Space for further ones; less than 0 before the first one."""

    def truth(self, source: Path) -> str | None:
        """Keep the answers of a web to a list, once, and return the file's name; None if there is no space."""
        if self.kept == "none" or not self._fits(source.stat().st_size):
            return None
        with source.open("rb") as content:
            name = f"truth-{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}.gz"
        if not (self.folder / ARTIFACTS / name).exists():
            self.left_bytes -= self._write(f"{ARTIFACTS}/{name}", compressed(source))
        return name

    def keep(self, plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, trial: Trial) -> None:
        """Keep the artifacts of a trial if they are to be kept and fit."""
        failed = trial.outcome is not Outcome.OK or trial.validity is not Validity.VALID
        if self.kept == "none" or (self.kept == "failed" and not failed):
            return
        paths = {name: getattr(files, name).path for name in _STREAMS}
        paths |= {name: file.path for name, file in files.more.items() if name != LINES}
        is_judged_by_truth = plan.subject.kind is SubjectKind.CLIENT and plan.condition.peer is None
        no_truth = is_judged_by_truth and (files.answers is None or files.answers.kept_as is None)
        if no_truth or not self._fits(sum(path.stat().st_size for path in paths.values())):
            return
        values = {name: getattr(files, name) for name in _NAMES}
        values["truth"] = files.answers.kept_as if files.answers else None
        values["circumstances"] = _adapter(Circumstances).dump_python(circumstances, mode="json")

        def archive(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_FASTEST) as kept:
                kept.writestr(_PLAN, _plan_to_json(plan))
                kept.writestr(_VALUES, json.dumps(values))
                kept.writestr(_REPORT, json.dumps(files.report))
                for name, path in paths.items():
                    kept.write(path, name)

        size_bytes = self._write(artifacts_of(trial.trial), archive)
        if size_bytes > self.left_bytes:
            (self.folder / artifacts_of(trial.trial)).unlink()
            self.left_bytes = 0
        else:
            self.left_bytes -= size_bytes

    def _fits(self, size_bytes: int) -> bool:
        if self.left_bytes < 0:
            present = sum(file.stat().st_size for file in (self.folder / ARTIFACTS).glob("*"))
            self.left_bytes = max(_MOST_BYTES - present, 0)
        return size_bytes <= _PACKED * self.left_bytes

    def _write(self, name: str, write: Callable[[BinaryIO], object]) -> int:
        path = self.folder / name
        with storing(self.folder):
            path.parent.mkdir(exist_ok=True)
            write_whole(path, write)
            return path.stat().st_size


def _plan_to_json(plan: TrialPlan) -> bytes:
    point = plan.condition.point
    without = replace(plan, condition=replace(plan.condition, point=None))
    stored = _adapter(TrialPlan).dump_python(without, mode="json")
    stored["point"] = None if point is None else {"kind": type(point).__name__, "figures": figures_of(point)}
    return json.dumps(stored).encode()


def _plan_from_json(text: bytes) -> TrialPlan:
    stored = json.loads(text)
    point = stored.pop("point")
    plan: TrialPlan = _adapter(TrialPlan).validate_json(json.dumps(stored))
    if point is None:
        return plan
    kinds = {kind.__name__: kind for kind in definition_of(plan.condition.experiment).judging.figures}
    return replace(plan, condition=replace(plan.condition, point=read_figures(kinds[point["kind"]], point["figures"])))


@dataclass(frozen=True, slots=True)
class Rejudged:
    """A trial of a run, judged again."""

    before: Trial
    samples: pl.DataFrame
    """Its samples before."""
    after: JudgedTrial


def judge_again(run: Run, engine: Engine) -> Iterator[Rejudged]:
    """Judge the trials of a run again, from their artifacts and by the present rules.

    Raises ``NothingMeasured`` if none has artifacts.
    """
    trials = [*run.restored(run.ceilings), *run.records()]
    kept = [trial for trial in trials if (run.folder / artifacts_of(trial.trial)).is_file()]
    if not kept:
        raise NothingMeasured(
            f"{run.folder} has no artifacts to judge again: measure with --artifacts all, which keeps them"
        )
    judging = definition_of(run.manifest.experiment).judging
    samples = run.samples()
    for trial in kept:
        with ExitStack() as files:
            plan, left, circumstances = files.enter_context(_restored(run.folder, trial.trial, engine))
            kind = judging.trials[plan.subject.kind]
            after = judge_trial(plan, left, kind, circumstances, rules=judging.rules)
        yield Rejudged(trial, samples.filter(pl.col("trial") == trial.trial).collect(), after)


def write_again(run: Run, judged: Sequence[Rejudged]) -> None:
    """Replace records of trials by their new ones; the other records stay."""
    new = {one.before.trial: one.after for one in judged}
    trials = [*run.restored(run.ceilings), *run.records()]
    old_samples = run.samples().filter(~pl.col("trial").is_in(list(new))).collect()
    samples = [one.samples.cast(old_samples.schema) for one in new.values() if one.samples.width]
    replace_records(
        run.folder,
        [new[trial.trial].trial if trial.trial in new else trial for trial in trials],
        pl.concat([old_samples, *samples]).sort("trial", maintain_order=True),
    )


def changes_table(judged: Iterable[Rejudged]) -> Table:
    """Return the changes: a row for each changed column of a record and for each change of verdicts."""
    columns = (
        Column("trial", ColumnKind.INTEGER, description="number of the trial"),
        Column("subject"),
        Column("column", description="column of the record, or `verdict` of samples"),
        Column("before"),
        Column("after"),
        Column("samples", ColumnKind.INTEGER, description="samples whose verdict changed"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in judged:
        name = (one.before.trial, one.before.subject)
        before, after = _columns(one.before), _columns(one.after.trial)
        for column in dict.fromkeys((*before, *after)):
            pair = before.get(column), after.get(column)
            if pair[0] != pair[1]:
                rows.append((*name, column, *(None if value is None else str(value) for value in pair), None))
        then, now = _verdicts(one.samples), _verdicts(one.after.samples)
        joined = then.join(now, on=["url", "line"], how="full", suffix="_now", nulls_equal=True, maintain_order="left")
        other = joined.filter(pl.col("verdict").ne_missing(pl.col("verdict_now")))
        changes = Counter(other.select(pl.col("verdict", "verdict_now").fill_null("none")).iter_rows())
        rows += ((*name, "verdict", *verdicts, count) for verdicts, count in changes.items())
    return Table(columns, tuple(rows))


def _columns(trial: Trial) -> dict[str, object]:
    columns = flatten(trial)
    return {**columns, **columns.pop("figures", {})}


def _verdicts(samples: pl.DataFrame) -> pl.DataFrame:
    if samples.is_empty():
        return pl.DataFrame(schema={"url": pl.String, "line": pl.Int32, "verdict": pl.String})
    return samples.select("url", "line", pl.col("verdict").cast(pl.String))


@contextmanager
def _restored(folder: Path, number: int, engine: Engine) -> Iterator[tuple[TrialPlan, TrialFiles, Circumstances]]:
    """Restore the files of a trial; raise ``UnreadableRun`` if the archive is damaged."""
    path = folder / artifacts_of(number)
    with ExitStack() as opened:
        try:
            kept = opened.enter_context(zipfile.ZipFile(path))
            values: Mapping[str, Any] = json.loads(kept.read(_VALUES))
            plan, report = _plan_from_json(kept.read(_PLAN)), json.loads(kept.read(_REPORT))
            circumstances = _adapter(Circumstances).validate_python(values["circumstances"])
            scratch = {
                name: opened.enter_context(ScratchFile())
                for name in kept.namelist()
                if name not in {_PLAN, _VALUES, _REPORT}
            }
            for name, file in scratch.items():
                with kept.open(name) as content:
                    while piece := content.read(_PIECE):
                        file.write((piece,))
            named = {name: values[name] for name in _NAMES}
            stdout, stderr, arrivals, driver_output = (scratch.pop(name) for name in _STREAMS)
            files = TrialFiles(report, stdout, stderr, arrivals, driver_output, more=scratch, **named)
            truth = values["truth"]
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise UnreadableRun(f"{path}: the artifacts are damaged: {error}; remove the file") from error
        except (ValueError, KeyError, TypeError, UsageError) as error:
            raise UnreadableRun(f"{folder}: the artifacts of trial {number} cannot be read: {error}") from error
        opened.enter_context(files)
        if plan.subject.kind is SubjectKind.CLIENT:
            files.answers = _answers(folder, plan, truth)
            add_lines(files, engine)
        yield plan, files, circumstances


def _answers(folder: Path, plan: TrialPlan, name: str | None) -> Answers:
    """Read the answers that ``ArtifactKeeper.truth`` kept under this name; None: those that the contract defines."""
    with ScratchFile() as truth:
        if name is not None:
            path = folder / ARTIFACTS / name
            truth.write(unpack(path, "the right answers of the run", f"remove {path.parent}"))
        answers = read_answers(truth.path, plan.condition)
    urls = plan.condition.workload.urls
    return answers.first(urls.count) if isinstance(urls, UrlSeries) else answers
