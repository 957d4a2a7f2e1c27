"""The table of the capacity question for programs."""

from dataclasses import replace

from doubles.trials import trial
from httpdyno.experiments.capacity.definition import DEFINITION
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.present import point_table
from httpdyno.model import Loop, Outcome, Trial, Validity

MS = 10**6
POINT = CapacityPoint(102_400, 20 * MS, 40 * MS, 10**9, None, 200, Loop.OPEN, 2000.0)


def measured(
    block: int, per_s: float, *, held: bool, subject: str = "one", point: CapacityPoint = POINT, **changes: object
) -> Trial:
    summary = CapacitySummary(
        answers=9,
        errors=1,
        measured_ns=5 * 10**9,
        per_s=per_s,
        service_mean_ns=61.25 * MS,
        response_p50_ns=60.0 * MS,
        response_p99_ns=99.0 * MS,
        errors_share=0.001,
        held=held,
        why_not=None if held else "1,812 right answers a second, not 2,000",
        limit="bandwidth",
        limit_per_s=1180.04,
    )
    return trial(subject, block, experiment="capacity", capacity_point=point, capacity=summary, **changes)


def test_a_row_is_a_subject_at_a_point_in_the_units_of_its_columns() -> None:
    table = point_table([measured(0, 1999.96, held=True), measured(0, 1812.0, held=False, subject="two")])
    shown = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert list(shown)[:15] == [
        *("subject", "size", "delay", "rtt", "linkRate", "concurrency", "target"),
        *("right_per_s", "mean", "p50", "p99", "errors", "held", "limit", "verdict"),
    ]
    assert (shown["size"], shown["delay"], shown["rtt"], shown["linkRate"]) == (102_400, 20.0, 40.0, 10**9)
    assert (shown["right_per_s"], shown["mean"], shown["p99"], shown["errors"]) == (2000.0, 61.2, 99.0, 0.001)
    assert (shown["held"], shown["limit"], shown["limit_per_s"], shown["verdict"]) == (
        True,
        "bandwidth",
        1180.0,
        "VALID",
    )
    assert table.values("subject") == ("one", "two")
    assert table.values("held") == (True, False)
    assert table.values("why_not")[1] == "1,812 right answers a second, not 2,000"


def test_repeats_are_one_row_without_figures_on_which_they_disagree() -> None:
    table = point_table(
        [measured(0, 1900.0, held=False), measured(1, 2000.0, held=True), measured(2, 1990.0, held=True)]
    )
    assert table.values("right_per_s") == (1990.0,)
    assert table.values("held") == (None,)
    assert table.values("trials") == (3,)


def test_failed_trials_keep_their_row() -> None:
    missing = trial(
        "one", 0, experiment="capacity", capacity_point=POINT, outcome=Outcome.UNAVAILABLE, reason="no go here"
    )
    # No law excludes it there: another program on the CPU may have decided it.
    doubtful = measured(
        0,
        9.0,
        held=False,
        subject="two",
        point=replace(POINT, size_bytes=0),
        validity=Validity.UNSTEADY,
        validity_reason="others were busy",
    )
    table = point_table([missing, doubtful])
    assert table.values("verdict") == ("unavailable", "UNSTEADY")
    assert table.values("held") == (None, None)
    assert table.values("right_per_s") == (None, 9.0)
    assert [note.text for note in table.notes] == ["one: unavailable: no go here", "two: UNSTEADY: others were busy"]


def test_notes_that_apply_to_many_points_are_printed_once_for_each_subject() -> None:
    disturbed = {"validity": Validity.ORIGIN_LIMITED}
    table = point_table(
        [
            measured(
                0,
                9.0,
                held=False,
                subject=subject,
                point=replace(POINT, size_bytes=size),
                validity_reason=f"{size} %",
                **disturbed,
            )
            for subject in ("one", "two")
            for size in (97, 98, 99)
        ]
    )
    similar = "ORIGIN_LIMITED: 97 %, or similar (3 of 3 trials)"
    assert [note.text for note in table.notes] == [f"one: {similar}", f"two: {similar}"]


def test_without_trials_there_are_columns_only() -> None:
    assert point_table([]).rows == ()
    assert DEFINITION.presentation.table([]).columns == point_table([]).columns
