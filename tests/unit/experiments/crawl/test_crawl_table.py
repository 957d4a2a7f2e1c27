"""The table of a crawl: one row a subject, valid ones first, none left out."""

from typing import Any

from doubles.trials import trial, trials_of
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import marked_ranks
from httpdyno.model import LinesSummary, Outcome, Table, Tally, Trial, Validity


def named(subject: str, right_per_s: float, **changes: Any) -> Trial:
    return trial(subject, 0, right_per_s, **changes)


def failed(subject: str, outcome: Outcome, reason: str) -> Trial:
    return trial(subject, 0, outcome=outcome, reason=reason, validity=None, summary=None, tally=None, version=None)


def bench(trials: list[Trial]) -> Table:
    return definition_of("bench").presentation.table(trials)


def table_notes(table: Table) -> list[str]:
    return [note.text for note in table.notes if note.row is None]


def test_rows_are_ranked_by_the_rate_of_one_core_unless_chosen_otherwise() -> None:
    def timed(subject: str, rate: float, per_core: float) -> list[Trial]:
        summary = LinesSummary(urls=10, right_per_s=rate, cpu_per_right_ns=1e9 / per_core)
        return [trial(subject, block, summary=summary) for block in range(3)]

    trials = timed("thrifty", 10, 500) + timed("fast", 100, 50)
    for settings, first, figure in (
        ({}, "thrifty", "right_per_core_s"),
        ({"saturate": True}, "fast", "right_per_s"),
        ({"preset": "crawl"}, "fast", "right_per_s"),
        ({"saturate": True, "rank_by": "right_per_core_s"}, "thrifty", "right_per_core_s"),
        ({"rank_by": "perCore"}, "thrifty", "right_per_core_s"),
        ({"rank_by": "rightPerSec"}, "fast", "right_per_s"),
    ):
        shown = definition_of("bench").presentation.for_run(settings)
        assert (shown.ranked_by, shown.table(trials).values("subject")[0]) == (figure, first)


def test_rows_are_ranked_by_right_answers() -> None:
    trials = trials_of("slow", [10, 12]) + trials_of("fast", [90, 110])
    table = bench(trials)
    assert table.values("subject") == ("fast", "slow")
    assert table.values("right_per_s") == (100.0, 11.0)
    assert table.values("verdict") == ("VALID", "VALID")


def test_what_cannot_be_believed_is_shown_and_not_ranked() -> None:
    trials = [
        failed("z-missing", Outcome.UNAVAILABLE, "needs go"),
        named("liar", 500, validity=Validity.INCORRECT, validity_reason="9 of 10 answers are wrong"),
        failed("b-broken", Outcome.CRASHED, "killed by SIGSEGV"),
        named("honest", 10),
        named("fickle", 99),
        failed("fickle", Outcome.HUNG, "printed nothing"),
    ]
    table = bench(trials)
    assert table.values("subject") == ("honest", "liar", "fickle", "b-broken", "z-missing")
    assert table.values("verdict") == ("VALID", "INCORRECT", "hung", "crashed", "unavailable")
    assert table.values("totalUrls")[-1] is None
    notes = {table.values("subject")[note.row]: note.text for note in table.notes if note.row is not None}
    assert "needs go" in notes["z-missing"]
    assert "SIGSEGV" in notes["b-broken"]


def test_no_trials_are_no_rows() -> None:
    table = bench([])
    assert table.rows == ()
    assert "right_per_s" in {column.name for column in table.columns}


FAST = [200.0, 222, 201, 199, 210]
SLOW = [100.0, 110, 101, 100, 104]


def test_ranks_and_intervals_surround_the_ranking_metric() -> None:
    trials = trials_of("slow", SLOW) + trials_of("fast", FAST) + trials_of("same", FAST)
    table = bench(trials)
    names = [column.name for column in table.columns]
    first = names.index("rank")
    assert names[first : first + 7] == [
        *("rank", "rank_note", "rank_best", "rank_worst"),
        *("right_per_core_s", "right_per_core_s_low", "right_per_core_s_high"),
    ]
    assert [row[first : first + 7] for row in table.rows] == [
        (1, None, 1, 2, 201.0, 199.0, 222.0),
        (2, "may be chance", 1, 2, 201.0, 199.0, 222.0),
        (3, None, 3, 3, 101.0, 100.0, 110.0),
    ]
    assert {column.unit for column in table.columns[first + 4 : first + 7]} == {"1/s"}
    assert marked_ranks(table).values("rank") == ("1", "2?", "3")
    # The figures that answer the question have intervals, too, whatever the ranking.
    assert table.values("right_per_s_low") == table.values("right_per_core_s_low")
    assert table.values("cpu_per_right_ms_high") == (5.025, 5.025, 10.0)


def test_an_interval_of_less_confidence_is_explained() -> None:
    (note,) = table_notes(bench(trials_of("fast", FAST) + trials_of("slow", SLOW[:4])))
    assert note.startswith("right_per_core_s_low, right_per_core_s_high: ")
    assert "93.75 % or 87.5 % confidence, not 95 %" in note
    assert table_notes(bench(trials_of("fast", [*FAST, 205.0]) + trials_of("slow", [*SLOW, 103.0]))) == []


def test_one_trial_each_leaves_the_ranks_open_with_a_note() -> None:
    table = bench([named("a", 1), named("b", 2), named("c", 3)])
    assert table.values("subject") == ("c", "b", "a")
    assert table.values("rank") == (1, 2, 3)
    assert table.values("rank_note") == (None, "may be chance", "may be chance")
    assert {*table.values("rank_best"), *table.values("rank_worst")} == {1, 3}
    assert table.values("right_per_s_low") == (None, None, None)
    assert any("fewer than 3 blocks" in note for note in table_notes(table))


def test_an_unranked_row_has_no_rank_and_no_interval() -> None:
    liar = trials_of("liar", FAST, validity=Validity.INCORRECT, validity_reason="9 of 10 answers are wrong")
    absent = [failed("missing", Outcome.UNAVAILABLE, "needs go")]
    table = bench(liar + trials_of("slow", SLOW) + trials_of("slower", [value / 3 for value in SLOW]) + absent)
    assert table.values("subject") == ("slow", "slower", "liar", "missing")
    assert table.values("rank") == (1, 2, None, None)
    assert table.values("right_per_s") == (101.0, 33.7, 201.0, None)
    assert table.values("right_per_s_low") == (100.0, 33.3, None, None)


def test_a_single_row_has_no_rank() -> None:
    assert bench(trials_of("only", FAST)).values("rank") == (None,)


def test_disturbed_trials_are_noted_and_not_counted() -> None:
    reason = "the origin was 9 ms late"
    spoiled = trial(
        "fast", 4, 1.0, validity=Validity.ORIGIN_LIMITED, validity_reason=reason, tally=Tally(right=7, late=3)
    )
    table = bench([*trials_of("fast", FAST[:4]), spoiled, *trials_of("slow", SLOW)])
    assert table.values("rank") == (1, 2)
    assert table.values("right_per_s") == (200.5, 101.0)
    assert table.values("verdict") == ("VALID", "VALID")
    assert table.values("wrong") == (3, 0)
    assert f"ORIGIN_LIMITED: {reason} (1 of 5 trials)" in [note.text for note in table.notes if note.row == 0]


def test_each_condition_is_ranked_for_itself() -> None:
    near = trials_of("a", FAST, condition="near") + trials_of("b", SLOW, condition="near")
    far = trials_of("a", SLOW, condition="far") + trials_of("b", FAST, condition="far")
    table = bench(near + far)
    assert table.values("subject") == ("a", "b", "b", "a")
    assert table.values("rank") == (1, 2, 1, 2)
