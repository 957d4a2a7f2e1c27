"""How a trial as a whole ended, and why in one line."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from httpdyno.judge.lines import LINE_COLUMNS, Lines
from httpdyno.judge.outcome import Ending, ending_from_report, outcome_of
from httpdyno.judge.verdict import Judged
from httpdyno.model import Outcome

S = 10**9
DONE = Ending("exited", exit_code=0, started_at_ns=0, ended_at_ns=60 * S)
DEADLINE = replace(DONE, kind="deadline", exit_code=None, signal=15)
LINES = Lines(pl.DataFrame(schema=LINE_COLUMNS), 0, ())


def judged(last_end_s: float | None = None, causes: Sequence[str | None] = (), **counts: object) -> Judged:
    """Make the lines of a client that ended then, and a URL without a line for each cause."""
    printed = [] if last_end_s is None else [(1, "https://first", None, 0, int(last_end_s * S))]
    missing = [(None, f"https://{number}", cause, None, None) for number, cause in enumerate(causes)]
    columns = {"line": pl.Int32, "url": pl.String, "cause": pl.String, "start_ns": pl.Int64, "duration_ns": pl.Int64}
    samples = pl.DataFrame([*printed, *missing], schema=columns, orient="row")
    return Judged(samples, **({"missing": len(causes)} | counts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ending", "lines", "result", "outcome", "reason"),
    [
        (DONE, LINES, judged(59), Outcome.OK, None),
        (DONE, LINES, judged(), Outcome.OK, None),
        (replace(DONE, exit_code=3), LINES, judged(), Outcome.CRASHED, "exited with 3"),
        (
            replace(DONE, exit_code=1, stderr="a\nb\n\nTypeError: x\n  at y\n"),
            LINES,
            judged(),
            Outcome.CRASHED,
            "exited with 1: b / TypeError: x / at y",
        ),
        (
            replace(DONE, kind="signaled", exit_code=None, signal=11),
            LINES,
            judged(),
            Outcome.CRASHED,
            "killed by SIGSEGV",
        ),
        (
            replace(DONE, kind="signaled", exit_code=None, signal=99),
            LINES,
            judged(),
            Outcome.CRASHED,
            "killed by signal 99",
        ),
        (
            replace(DONE, kind="signaled", exit_code=None, signal=9, out_of_memory=True),
            LINES,
            judged(),
            Outcome.CRASHED,
            "killed by the kernel: out of memory",
        ),
        (
            replace(DONE, kind="failed_to_start", exit_code=None, reason="no such file"),
            LINES,
            judged(),
            Outcome.CRASHED,
            "could not be started: no such file",
        ),
        # Withheld, without mention of other missing lines.
        (replace(DONE, withheld="silent"), LINES, judged(59), Outcome.MISSING, "silent"),
        (replace(DONE, withheld="silent"), LINES, judged(59, missing=2), Outcome.MISSING, "silent"),
        (replace(DONE, withheld="silent"), LINES, judged(59, foreign=1), Outcome.FOREIGN, None),
        (replace(DONE, withheld="silent", exit_code=1), LINES, judged(59), Outcome.CRASHED, "exited with 1"),
        # Silent because of the limit per host, because it owed an answer, or with nothing left to do.
        (replace(DEADLINE, owed=0), LINES, judged(1, missing=2), Outcome.OK, None),
        (replace(DEADLINE, owed=0), LINES, judged(missing=2), Outcome.OK, None),
        (
            replace(DEADLINE, owed=1),
            LINES,
            judged(causes=(None, None)),
            Outcome.HUNG,
            "printed nothing in 60.0 s; 2 URLs missing: https://0, https://1",
        ),
        (
            replace(DEADLINE, owed=0),
            LINES,
            judged(1),
            Outcome.HUNG,
            "printed every URL, but did not exit before the deadline",
        ),
        (replace(DONE, kind="interrupted"), LINES, judged(), Outcome.INTERRUPTED, "stopped before it ended"),
        (
            DONE,
            replace(LINES, garbage=2, garbage_examples=("hello", "w\x1brld")),
            judged(foreign=1),
            Outcome.GARBAGE,
            "2 lines that cannot be read, such as 'hello', 'w\\x1brld'",
        ),
        (
            DONE,
            LINES,
            judged(foreign=1, foreign_examples=("https://x",), duplicates=3),
            Outcome.FOREIGN,
            "1 line for a URL that is not in the list, such as 'https://x'",
        ),
        (
            DONE,
            LINES,
            judged(duplicates=3, duplicate_examples=("https://x",), missing=9),
            Outcome.DUPLICATE,
            "3 lines more than the URL is in the list, such as 'https://x'",
        ),
        (
            DONE,
            LINES,
            judged(missing=1, missing_examples=("https://x",)),
            Outcome.MISSING,
            "1 URL forgotten, although it exited with 0, such as 'https://x'",
        ),
        # the deadline
        (DEADLINE, LINES, judged(59, missing=500), Outcome.OK, None),
        (DEADLINE, LINES, judged(49.1, missing=500), Outcome.OK, None),
        (
            DEADLINE,
            LINES,
            judged(48, causes=["stall_headers"]),
            Outcome.HUNG,
            "printed nothing in the 12.0 s before the deadline; 1 URL missing: https://0 (stall_headers); "
            "does the client's REQUEST_TIMEOUT cover that?",
        ),
        # Faults of the web are named first, three in all.
        (
            DEADLINE,
            LINES,
            judged(48, causes=[None, "stall_tls", None, "stall_body", *[None] * 1496]),
            Outcome.HUNG,
            "printed nothing in the 12.0 s before the deadline; 1,500 URLs missing: https://1 (stall_tls), "
            "https://3 (stall_body), https://0 and 1,497 more; does the client's REQUEST_TIMEOUT cover that?",
        ),
        (DEADLINE, LINES, judged(59), Outcome.HUNG, "printed every URL, but did not exit before the deadline"),
        (DEADLINE, LINES, judged(59, missing=5, duplicates=1, duplicate_examples=("u",)), Outcome.DUPLICATE, None),
    ],
)
def test_outcomes(ending: Ending, lines: Lines, result: Judged, outcome: Outcome, reason: str | None) -> None:
    found, why = outcome_of(ending, lines, result, timeout_ns=5 * S)
    assert found is outcome
    if reason is not None or outcome is Outcome.OK:
        assert why == reason
    assert why is None or "\n" not in why


def test_an_ending_comes_from_the_report() -> None:
    subject = {"exit_code": None, "signal": 9, "started_at_ns": 1, "ended_at_ns": 2, "out_of_memory": True}
    ending = ending_from_report({"outcome": "signaled", "reason": "r", "subject": subject}, "oops")
    assert ending == Ending("signaled", "r", None, 9, 1, 2, True, "oops")
    fed = {"per_host": 1, "lines": 3, "owed": 2, "withheld": "silent"}
    assert ending_from_report({"outcome": "exited", "fed": fed}) == Ending("exited", withheld="silent", owed=2)
    assert ending_from_report({"outcome": "exited", "fed": {"batch": 2, "lines": 3}}) == Ending("exited")
    assert ending_from_report({"outcome": "failed_to_start", "reason": "r"}) == Ending("failed_to_start", "r")


@pytest.mark.parametrize(
    ("kind", "cut_short", "killed"),
    [("exited", False, False), ("signaled", False, True), ("deadline", True, True), ("interrupted", True, True)],
)
def test_who_was_stopped_and_whose_last_line_may_lack_its_end(kind: str, cut_short: bool, killed: bool) -> None:
    ending = Ending(kind)
    assert (ending.cut_short, ending.killed) == (cut_short, killed)
