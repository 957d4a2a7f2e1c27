"""Reads the line of a client that timed its own calls."""

from pydantic import BaseModel, ConfigDict, ValidationError

from httpdyno.errors import InvalidValue, UnreadableReport
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls

__all__ = ["read_harness_line"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Answer(_Section):
    code: str
    body_length: int
    calls: int


class _Line(_Section):
    outcome: str
    loops: int | None
    calls_per_loop: int
    runs_ns: list[int]
    cpu_user_ns: list[int]
    cpu_system_ns: list[int]
    answers: list[_Answer]


def read_harness_line(printed: str) -> TimedCalls:
    """Read what a client printed with ``HARNESS=timeit``.

    Raises ``UnreadableReport`` unless it is the one line of the contract and does not contradict itself.
    """
    lines = printed.splitlines()
    if len(lines) != 1:
        raise UnreadableReport(f"HARNESS=timeit: {len(lines)} lines printed, where there must be one")
    try:
        line = _Line.model_validate_json(lines[0])
        return TimedCalls(
            line.outcome,
            line.loops,
            line.calls_per_loop,
            tuple(line.runs_ns),
            tuple(line.cpu_user_ns),
            tuple(line.cpu_system_ns),
            tuple(TimedAnswer(answer.code, answer.body_length, answer.calls) for answer in line.answers),
        )
    except ValidationError as error:
        detail = error.errors()[0]
        key = ".".join(map(str, detail["loc"]))
        raise UnreadableReport(f"HARNESS=timeit: {f'{key}: ' if key else ''}{detail['msg']}") from None
    except InvalidValue as error:
        raise UnreadableReport(f"HARNESS=timeit: {error}") from error
