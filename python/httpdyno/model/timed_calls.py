"""Timings of a client that times its own calls: ``HARNESS=timeit`` of the subject contract."""

from dataclasses import dataclass
from typing import ClassVar, Final

from httpdyno.errors import InvalidValue

TIMED_RUNS: Final = 7
"""Number of timed runs, as in ``%timeit``."""
_AS_PRINTED: Final = {"extra": "forbid", "strict": True}
"""Options with which pydantic reads these records from a line of a client."""


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """Number of calls with the same result."""

    __pydantic_config__: ClassVar = _AS_PRINTED

    code: str
    """A status, or the name of an error."""
    body_length: int
    calls: int


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """Timed runs of one client."""

    __pydantic_config__: ClassVar = _AS_PRINTED

    outcome: str
    """``ok``, or the name of the error that ended it."""
    loops: int | None
    """Loops of each run; None if it ended before the number was chosen."""
    calls_per_loop: int
    runs_ns: tuple[int, ...]
    """Duration of each run, with all its loops."""
    cpu_user_ns: tuple[int, ...]
    """CPU time of the whole process during each run."""
    cpu_system_ns: tuple[int, ...]
    answers: tuple[TimedAnswer, ...]
    """Answers of all calls: warm-up, choice of the number of loops, runs."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for timings that no harness of the contract can produce."""
        runs = len(self.runs_ns)
        if not runs == len(self.cpu_user_ns) == len(self.cpu_system_ns):
            raise InvalidValue(f"{runs} runs, but CPU time of {len(self.cpu_user_ns)} and {len(self.cpu_system_ns)}")
        if runs > TIMED_RUNS or (self.is_ok and runs < TIMED_RUNS):
            raise InvalidValue(f"{runs} runs instead of {TIMED_RUNS}")
        if any(time < 0 for times in (self.runs_ns, self.cpu_user_ns, self.cpu_system_ns) for time in times):
            raise InvalidValue("a time below 0")
        if self.loops is None and runs:
            raise InvalidValue("runs without a number of loops")
        if self.loops is not None and (self.loops < 1 or str(self.loops).rstrip("0") not in {"1", "2", "5"}):
            raise InvalidValue(f"{self.loops} loops, which timeit never tries; it tries 1, 2, 5, 10, 20, 50, ...")
        if self.calls_per_loop < 1 or any(answer.calls < 1 or answer.body_length < 0 for answer in self.answers):
            raise InvalidValue("calls must be 1 or more, and a length not below 0")
        # Each number of loops was tried before the runs, and each run has as many loops as the last try.
        least = self.calls_per_loop * (1 + (runs + 1) * (self.loops or 0))
        if self.calls % self.calls_per_loop or self.calls < least:
            raise InvalidValue(f"{self.calls} answers; there must be {least} or more, and only whole loops")

    @property
    def is_ok(self) -> bool:
        """Whether no call ended in an error."""
        return self.outcome == "ok"

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(answer.calls for answer in self.answers)

    @property
    def per_loop_ns(self) -> tuple[float, ...]:
        """Mean time of a loop in each run."""
        return tuple(run / (self.loops or 1) for run in self.runs_ns)

    @property
    def cpu_per_call_ns(self) -> tuple[float, ...]:
        """Mean CPU time of a call in each run."""
        calls = (self.loops or 1) * self.calls_per_loop
        return tuple((user + system) / calls for user, system in zip(self.cpu_user_ns, self.cpu_system_ns, strict=True))
