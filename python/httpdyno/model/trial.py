"""Verdicts and outcomes, and the columns of ``samples.parquet`` and ``trials.parquet``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, TypeVar

from httpdyno.model.condition import CeilingLimit, Purpose
from httpdyno.model.counters import Counters, ProgramUse
from httpdyno.model.record import (
    Embedded,
    Figure,
    FigureRecord,
    Recorded,
    StoredApart,
    figures_of,
    measured,
    read_figures,
    without_figures,
)


class Verdict(StrEnum):
    """Verdict on one line of a client, compared with what the web served."""

    RIGHT = "right"
    WRONG_STATUS = "wrong_status"
    WRONG_LENGTH = "wrong_length"
    LATE = "late"
    FALSE_ERROR = "false_error"
    MISSED_ERROR = "missed_error"
    WRONG_TIME = "wrong_time"
    NOT_REACHED = "not_reached"
    UNVERIFIED = "unverified"

    @property
    def wrong(self) -> bool:
        """Whether the client is at fault; it is not if the time ran out or the right answer is unknown."""
        return self not in {Verdict.RIGHT, Verdict.NOT_REACHED, Verdict.UNVERIFIED}


class Outcome(StrEnum):
    """How a trial as a whole ended."""

    OK = "ok"
    CRASHED = "crashed"
    HUNG = "hung"
    GARBAGE = "garbage"
    FOREIGN = "foreign"
    DUPLICATE = "duplicate"
    MISSING = "missing"
    INTERRUPTED = "interrupted"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    """The room or its link did not have the requested properties; the subject was not started."""
    NEVER_LISTENED = "never_listened"
    """A server accepted no connection."""
    DIED = "died"
    """A server ended or stopped answering under load."""
    WRONG_ANSWERS = "wrong_answers"
    """A server breaks its contract."""
    LEAKED = "leaked"
    """A server opened more and more descriptors at constant concurrency."""


class Validity(StrEnum):
    """Whether a trial's figures represent its subject; invalid trials are shown, and not ranked."""

    VALID = "VALID"
    GENERATOR_LIMITED = "GENERATOR_LIMITED"
    ORIGIN_LIMITED = "ORIGIN_LIMITED"
    LINK_LIMITED = "LINK_LIMITED"
    DISTURBED = "DISTURBED"
    """By other programs, the hypervisor or a CPU quota; version 0.1 wrote ``UNSTEADY`` or ``ORIGIN_LIMITED``."""
    UNSTEADY = "UNSTEADY"
    """Its own speed drifted."""
    INCORRECT = "INCORRECT"
    UNVERIFIED = "UNVERIFIED"


@dataclass(frozen=True, slots=True)
class Sample:
    """Columns of one request of a trial as its client reported it, with its verdict; it has no instances."""

    trial: Annotated[int, Recorded("number of the trial in its run, from 0", type="int32")]
    line: Annotated[int | None, Recorded("line of the client's output, from 1; null without one", type="int32")]
    url: Annotated[str, Recorded("URL that the client was given")]
    code: Annotated[str | None, Recorded("the second field of the line as the client printed it")]
    status: Annotated[int | None, Recorded("status code, when the code is one", type="int16")]
    error: Annotated[str | None, Recorded("error name, when the code is not a status code")]
    start_ns: Annotated[int | None, Recorded("claimed time at which the client took the slot, since the Unix epoch")]
    duration_ns: Annotated[int | None, Recorded("duration that the client claims, redirects included")]
    body_length: Annotated[int | None, Recorded("content after decoding content codings", unit="bytes")]
    cause: Annotated[str | None, Recorded("fault of the web that decides the answer; null without a fault")]
    verdict: Annotated[Verdict, Recorded("verdict on the line, after comparison with the web")]
    served_status: Annotated[int | None, Recorded("right status; null unless code or length is wrong", type="int16")]
    served_body_length: Annotated[int | None, Recorded("right length; null like `served_status`", unit="bytes")]
    explained: Annotated[bool, Recorded("whether a known failure of the subject explains a wrong verdict")]


_Figures = TypeVar("_Figures", bound=FigureRecord)


@dataclass(frozen=True, slots=True)
class ExplainedCase:
    """A known failure of the subject that explains wrong samples of a trial."""

    case: Annotated[str, Recorded("name of the case")]
    reason: Annotated[str, Recorded("reason in the subject's definition")]
    issue: Annotated[str, Recorded("URL of its discussion; empty without one")]
    count: Annotated[int, Recorded("wrong samples that it explains")]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many samples of a trial got each verdict, including samples that a known failure explains."""

    right: Annotated[int, Recorded("samples that are right")] = 0
    wrong_status: Annotated[int, Recorded("samples with another status than the web serves")] = 0
    wrong_length: Annotated[int, Recorded("samples with another length than the web serves")] = 0
    late: Annotated[int, Recorded("samples past their timeout by more than 10 % and 100 ms")] = 0
    false_error: Annotated[int, Recorded("samples with an error where a status is right")] = 0
    missed_error: Annotated[int, Recorded("samples with a status where an error is right")] = 0
    wrong_time: Annotated[int, Recorded("samples with a period that the origin did not see")] = 0
    not_reached: Annotated[int, Recorded("URLs without a line at the deadline")] = 0
    unverified: Annotated[int, Recorded("samples of the real internet, whose right answers are unknown")] = 0
    explained: Annotated[int, Recorded("wrong samples that a known failure of the subject explains")] = 0
    explained_cases: Annotated[tuple[ExplainedCase, ...], Recorded("known failures that explain them")] = ()
    surely_wrong: int | None = measured("unexplained wrong samples that load cannot cause; null: not examined")

    @property
    def wrong_in_all(self) -> int:
        """Samples at fault, explained or not."""
        return sum(getattr(self, verdict) for verdict in Verdict if verdict.wrong)

    @property
    def wrong(self) -> int:
        """Samples at fault that no known failure explains: the ``wrong`` of the tables."""
        return self.wrong_in_all - self.explained


@dataclass(frozen=True, slots=True)
class LinesSummary(FigureRecord):
    """Summary of a client's lines. A figure without samples is None."""

    prefix: ClassVar[str] = ""

    urls: Annotated[int, Recorded("URLs that the client printed a line for")] = 0
    time_ns: int | None = measured("from exec to the client's last line")
    exhausted_ns: int | None = measured("from exec to the start of the last URL")
    mean_ns: float | None = measured("mean of the durations")
    max_ns: int | None = measured("longest duration")
    p50_ns: float | None = measured("median of the durations")
    p99_ns: float | None = measured("99th percentile of the durations")
    ok_per_s: float | None = measured("answers with a status of 2xx per second of `time_ns`", unit="1/s")
    ok_share: float | None = measured("share of lines with a status of 2xx, 0 to 1")
    mean_body_length: float | None = measured("mean length of the content of 2xx", unit="bytes")
    right_per_s: float | None = measured("right answers per second until the list ended; null: too short", unit="1/s")
    start_cpu_ns: int | None = measured("CPU time until the first URL was started")
    warm_up_cpu_ns: float | None = measured("CPU time of the warm-up beyond that of as many answers after it")
    cpu_per_right_ns: float | None = measured("CPU time per right answer after the warm-up")
    planned_mean_ns: float | None = measured("mean time that the web plans for a URL of the list")
    status_2xx: Annotated[int, Recorded("lines with a status of 2xx")] = 0
    status_3xx: Annotated[int, Recorded("lines with a status of 3xx")] = 0
    status_4xx: Annotated[int, Recorded("lines with a status of 4xx")] = 0
    status_5xx: Annotated[int, Recorded("lines with a status of 5xx")] = 0
    exceptions: Annotated[int, Recorded("lines with any other code, usually an error")] = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial: one fresh process of one subject under one condition, with its outcome."""

    trial: Annotated[int, Recorded("number of the trial in its run, from 0; -1: that of the ceiling", type="int32")]
    block: Annotated[int, Recorded("block of trials under the same state of the machine, from 0", type="int32")]
    position: Annotated[int, Recorded("place within the block, from 0", type="int32")]
    experiment: Annotated[str, Recorded("name of the experiment")]
    condition: Annotated[str, Recorded("name of the point in the experiment's grid; empty if the grid has only one")]
    subject: Annotated[str, Recorded("name of the subject's folder")]
    language: Annotated[str, Recorded("language of the subject")]
    method: Annotated[str, Recorded("library or program, by its usual name")]
    version: Annotated[str | None, Recorded("version of the library or program")]
    concurrency: Annotated[int, Recorded("requests that may be in flight at once", type="int32")]
    web: Annotated[str, Recorded("name of the web")]
    seed: Annotated[int, Recorded("seed of the web", type="uint64")]
    link: Annotated[str, Recorded("the path between subject and web; `direct` without an emulated link")]
    timeout_ns: Annotated[int, Recorded("timeout of each URL, as set for the client")]
    keepalive: Annotated[bool, Recorded("whether the client was set to reuse connections")]
    check: Annotated[str, Recorded("check of the content by the client; empty: none")]
    http_version: Annotated[str, Recorded("HTTP version that the client was set to use; empty: its default")]
    urls_given: Annotated[int, Recorded("URLs that the client was given")]
    outcome: Annotated[Outcome, Recorded("how the trial as a whole ended")]
    reason: str | None = measured("why the outcome is not `ok`, in one line")
    install_command: str | None = measured("command that installs what an `unavailable` subject lacks")
    install_by_hand: str | None = measured("what of that no command installs")
    validity: Validity | None = measured("whether the figures represent the subject; null when it failed")
    validity_reason: str | None = measured("why the trial is not `VALID`, in one line")
    broken_rules: tuple[str, ...] | None = measured(
        "rules of validity that it breaks, first the one that determines `validity`; null: not judged, or an older run"
    )
    garbage_lines: Annotated[int, Recorded("lines that are not results")] = 0
    cool_down_ns: int | None = measured("time that the run waited before the trial until the machine was quiet")
    cool_down_reason: str | None = measured("reason for the cool-down; null when the machine was quiet at once")
    other_programs: tuple[ProgramUse, ...] | None = measured(
        "other programs that used the most CPU time, the busiest first; null: not recorded"
    )
    tally: Annotated[Tally | None, Embedded()] = None
    counters: Annotated[Counters, Embedded()] = field(default_factory=Counters)
    purpose: Annotated[Purpose | None, Recorded("measures a `subject`, or the `ceiling` of the web")] = Purpose.SUBJECT
    ceiling_per_s: float | None = measured("right answers per second of the fetcher `native` from this web", unit="1/s")
    ceiling_limit: CeilingLimit | None = measured("what limited that rate")
    peer: Annotated[str | None, Recorded("peer of the subject: `origin`, or a server's folder")] = "origin"
    batch: int | None = measured("URLs that the client was given at a time; null: all at once", type="int32")
    harness: Annotated[str | None, Recorded("`timeit` if the client timed its own calls, else empty")] = ""
    receive_steering: Annotated[bool | None, Recorded("whether each side receives packets on its own CPUs")] = False

    figures: Annotated[Mapping[str, Figure], StoredApart()] = field(default_factory=dict)
    """Settings and figures of its experiment, by name; ``get`` and ``[]`` read those of one record."""
    _read: dict[type[FigureRecord], FigureRecord | None] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Cache of the records that were read."""

    def __getitem__(self, kind: type[_Figures]) -> _Figures:
        """Return the figures of one record; raise ``KeyError`` if there are none."""
        figures = self.get(kind)
        if figures is None:
            raise KeyError(kind.__name__)
        return figures

    def get(self, kind: type[_Figures]) -> _Figures | None:
        """Return the figures of one record; None if the trial has none of them."""
        if kind not in self._read:
            self._read[kind] = read_figures(kind, self.figures)
        return self._read[kind]  # type: ignore[return-value]  # as it was read

    def having(self, *records: FigureRecord) -> "Trial":
        """Return the trial with the figures of the records, which replace earlier figures of the same names."""
        return replace(self, figures={**without_figures(self.figures, map(type, records)), **figures_of(*records)})

    @property
    def summary(self) -> LinesSummary | None:
        """Summary of the client's lines; None if it printed none."""
        return self.get(LinesSummary)


def records_of(kind: type[_Figures], trials: Iterable[Trial]) -> list[_Figures]:
    """Return the figures of one record of each trial that has them."""
    return [record for trial in trials if (record := trial.get(kind)) is not None]
