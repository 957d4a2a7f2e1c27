"""Artifacts of a run: keep them during the run, and judge them again later."""

import gzip
import hashlib
import json
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import polars as pl
from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import HttpdynoError, NothingMeasured, UnknownName, UnreadableRun, suggestion
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import Circumstances, JudgedTrial, ending_from_report
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
    Purpose,
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
from httpdyno.storage import storage_errors
from httpdyno.store import Run
from httpdyno.store.files import storing, write_whole
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
_LINES: Final = "lines"
"""A file of a trial that can be derived from its standard output."""
_NAMES: Final = ("version", "parser", "round_trip_ns", "said")


def keep_artifacts(folder: Path, number: int, files: Mapping[str, Path], values: Mapping[str, bytes]) -> int:
    """Keep the files of a trial, and a few values as files; return their size in bytes."""

    def archive(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_FASTEST) as kept:
            for name, content in values.items():
                kept.writestr(name, content)
            for name, path in files.items():
                with path.open("rb") as source, kept.open(name, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target)

    return _write(folder, artifacts_of(number), archive)


def keep_truth(folder: Path, source: Path) -> tuple[str, int]:
    """Keep the answers of a web to a list, once; return the file's name and the number of bytes written."""
    with source.open("rb") as content:
        name = f"truth-{hashlib.file_digest(content, 'sha256').hexdigest()[:16]}.gz"
    if (folder / ARTIFACTS / name).exists():
        return name, 0

    def compress(file: IO[bytes]) -> None:
        with source.open("rb") as content, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_FASTEST) as kept:
            shutil.copyfileobj(content, kept)

    return name, _write(folder, f"{ARTIFACTS}/{name}", compress)


def remove_artifacts(folder: Path, number: int) -> None:
    """Remove the artifacts of a trial."""
    (folder / artifacts_of(number)).unlink()


def has_artifacts(folder: Path, number: int) -> bool:
    """Return whether the artifacts of a trial are in the folder of its run."""
    return (folder / artifacts_of(number)).is_file()


def artifacts_bytes(folder: Path) -> int:
    """Return the size of a run's artifacts in bytes."""
    return sum(file.stat().st_size for file in (folder / ARTIFACTS).glob("*"))


@contextmanager
def open_artifacts(folder: Path, number: int) -> Iterator[zipfile.ZipFile]:
    """Open the archive of a trial; raise ``UnreadableRun`` if it is damaged."""
    path = folder / artifacts_of(number)
    try:
        with zipfile.ZipFile(path) as kept:
            yield kept
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise UnreadableRun(f"{path}: the artifacts are damaged: {error}; remove the file") from error


def read_truth(folder: Path, name: str, into: IO[bytes]) -> None:
    """Write the answers that ``keep_truth`` has kept under a name."""
    path = folder / ARTIFACTS / name
    try:
        with gzip.open(path) as kept:
            while piece := kept.read(_PIECE):
                with storage_errors("temporary files: cannot write"):
                    into.write(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableRun(f"{path}: the truth of the run is damaged: {error}; remove {path.parent}") from error
    into.flush()


def _write(folder: Path, name: str, write: Callable[[BinaryIO], object]) -> int:
    path = folder / name
    with storing(folder):
        path.parent.mkdir(exist_ok=True)
        write_whole(path, write)
        return path.stat().st_size


@cache
def _plans() -> TypeAdapter[TrialPlan]:
    return TypeAdapter(TrialPlan)


@cache
def _circumstances() -> TypeAdapter[Circumstances]:
    return TypeAdapter(Circumstances)


@dataclass(slots=True)
class ArtifactKeeper:
    """Keeper of artifacts in the folder of a run, up to 64 MiB."""

    folder: Path
    kept: str = "all"
    """One of ``KEPT``."""
    left_bytes: int = -1
    """Space for further ones; less than 0 before the first one."""

    def truth(self, source: Path) -> str | None:
        """Keep the answers of a web to a list and return their name; None if there is no space."""
        if self.kept == "none" or not self._fits(source.stat().st_size):
            return None
        name, written = keep_truth(self.folder, source)
        self.left_bytes -= written
        return name

    def keep(self, plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, trial: Trial) -> None:
        """Keep the artifacts of a trial if they are to be kept and fit."""
        failed = trial.outcome is not Outcome.OK or trial.validity is not Validity.VALID
        if self.kept == "none" or (self.kept == "failed" and not failed):
            return
        paths = {name: getattr(files, name).path for name in _STREAMS}
        paths |= {name: file.path for name, file in files.more.items() if name != _LINES}
        is_judged_by_truth = plan.subject.kind is SubjectKind.CLIENT and plan.condition.peer is None
        no_truth = is_judged_by_truth and (files.answers is None or files.answers.kept_as is None)
        if no_truth or not self._fits(sum(path.stat().st_size for path in paths.values())):
            return
        values = {name: getattr(files, name) for name in _NAMES}
        values["truth"] = files.answers.kept_as if files.answers else None
        values["circumstances"] = _circumstances().dump_python(circumstances, mode="json")
        contents = {
            _PLAN: _plan_to_json(plan),
            _VALUES: json.dumps(values).encode(),
            _REPORT: json.dumps(files.report).encode(),
        }
        size_bytes = keep_artifacts(self.folder, trial.trial, paths, contents)
        if size_bytes > self.left_bytes:
            remove_artifacts(self.folder, trial.trial)
            self.left_bytes = 0
        else:
            self.left_bytes -= size_bytes

    def _fits(self, size_bytes: int) -> bool:
        if self.left_bytes < 0:
            self.left_bytes = max(_MOST_BYTES - artifacts_bytes(self.folder), 0)
        return size_bytes <= _PACKED * self.left_bytes


def _plan_to_json(plan: TrialPlan) -> bytes:
    point = plan.condition.point
    without = replace(plan, condition=replace(plan.condition, point=None))
    stored = _plans().dump_python(without, mode="json")
    stored["point"] = None if point is None else {"kind": type(point).__name__, "figures": figures_of(point)}
    return json.dumps(stored).encode()


def _plan_from_json(text: bytes) -> TrialPlan:
    stored = json.loads(text)
    point = stored.pop("point")
    plan = _plans().validate_json(json.dumps(stored))
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

    def changed(self) -> dict[str, tuple[object, object]]:
        """Return each column of the record that has another value now, with both values."""
        before, after = _columns(self.before), _columns(self.after.trial)
        pairs = {name: (before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def verdicts(self) -> Counter[tuple[str, str]]:
        """Count the samples that have another verdict now, by both verdicts."""
        then, now = (_verdicts(samples) for samples in (self.samples, self.after.samples))
        joined = then.join(now, on=["url", "line"], how="full", suffix="_now", nulls_equal=True, maintain_order="left")
        other = joined.filter(pl.col("verdict").ne_missing(pl.col("verdict_now")))
        return Counter(other.select(pl.col("verdict", "verdict_now").fill_null("none")).iter_rows())


def _columns(trial: Trial) -> dict[str, object]:
    columns = flatten(trial)
    return {**columns, **columns.pop("figures", {})}


def _verdicts(samples: pl.DataFrame) -> pl.DataFrame:
    if samples.is_empty():
        return pl.DataFrame(schema={"url": pl.String, "line": pl.Int32, "verdict": pl.String})
    return samples.select("url", "line", pl.col("verdict").cast(pl.String))


def check_artifacts(kept: str) -> None:
    """Raise ``UnknownName`` unless ``kept`` is one of ``KEPT``."""
    if kept not in KEPT:
        raise UnknownName(f"--artifacts: there is no {kept!r}; {suggestion(kept, KEPT)}")


def judge_again(run: Run, engine: Engine) -> Iterator[Rejudged]:
    """Judge the trials of a run again, from their artifacts and by the rules of today.

    Raises ``NothingMeasured`` if none has artifacts.
    """
    trials = [*run.restored(run.ceilings), *run.records()]
    kept = [trial for trial in trials if has_artifacts(run.folder, trial.trial)]
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
        if plan.purpose is Purpose.CEILING:
            after = replace(after, samples=after.samples.clear())
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
        Column("column", description="column of the record; `verdict`: that of samples"),
        Column("before"),
        Column("after"),
        Column("samples", ColumnKind.INTEGER, description="samples whose verdict changed"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in judged:
        name = (one.before.trial, one.before.subject)
        rows += ((*name, column, _text(pair[0]), _text(pair[1]), None) for column, pair in one.changed().items())
        rows += ((*name, "verdict", *pair, count) for pair, count in one.verdicts().items())
    return Table(columns, tuple(rows))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@contextmanager
def _restored(folder: Path, number: int, engine: Engine) -> Iterator[tuple[TrialPlan, TrialFiles, Circumstances]]:
    """Restore the files of a trial."""
    with ExitStack() as made, open_artifacts(folder, number) as kept:
        try:
            values: Mapping[str, Any] = json.loads(kept.read(_VALUES))
            plan, report = _plan_from_json(kept.read(_PLAN)), json.loads(kept.read(_REPORT))
            circumstances = _circumstances().validate_python(values["circumstances"])
        except (ValueError, KeyError, TypeError, ValidationError, HttpdynoError) as error:
            raise UnreadableRun(f"{folder}: the artifacts of trial {number} cannot be read: {error}") from error
        scratch = {name: made.enter_context(ScratchFile()) for name in kept.namelist()}
        for name, file in scratch.items():
            with kept.open(name) as content:
                for piece in iter(partial(content.read, _PIECE), b""):
                    with storage_errors("temporary files: cannot write"):
                        file.file.write(piece)
            file.file.flush()
        stdout, stderr, arrivals, driver_output = (scratch.pop(name) for name in _STREAMS)
        more = {name: file for name, file in scratch.items() if name not in {_PLAN, _VALUES, _REPORT}}
        files = TrialFiles(report, stdout, stderr, arrivals, driver_output, more=more)
        for name in _NAMES:
            setattr(files, name, values[name])
        if plan.subject.kind is SubjectKind.CLIENT:
            files.answers = _answers(folder, plan, values["truth"])
            files.more[_LINES] = rows = made.enter_context(ScratchFile())
            engine.write_lines(files.stdout.path, rows.file, killed=ending_from_report(report).killed)
        yield plan, files, circumstances


def _answers(folder: Path, plan: TrialPlan, name: str | None) -> Answers:
    with ScratchFile() as truth:
        if name is not None:
            read_truth(folder, name, truth.file)
        answers = read_answers(truth.path, plan.condition)
    urls = plan.condition.workload.urls
    return answers.first(urls.count) if isinstance(urls, UrlSeries) else answers
