"""A run of a published grid: its CSV, and the table that compares it with the publication."""

from dataclasses import replace
from fractions import Fraction

import pytest

from doubles.trials import trial
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.published import at_scale, comparison_table, in_form, measured_rows, preset_axes
from httpdyno.model import Outcome, Trial, Validity, figures_of
from httpdyno.published import find_preset
from httpdyno.report.formats import render

BATCH_4 = find_preset("published-batch-4", "capacity")
TENTH = Fraction(1, 10)


def measured(
    per_s: float | None = 59.0,
    latency_s: float = 0.33,
    *,
    number: int = 0,
    subject: str = "go-net-http",
    held: bool = True,
) -> Trial:
    """Measure the first point of a tenth of batch 4, or the one of that number."""
    point = list(preset_axes(BATCH_4, TENTH).points())[number]
    summary = CapacitySummary(90, 0, 10**9, per_s, latency_s * 1e9, held=held, limit="bandwidth")
    return trial(subject, 0, experiment="capacity", capacity_point=point, capacity=summary)


def test_one_subject_has_the_published_columns_and_no_other() -> None:
    lines = render(in_form([measured(59.01234, 0.33106)], BATCH_4), "csv").splitlines()
    assert lines == ["Delay,Bandwidth,Concurrency,Average Latency (s),Requests/sec", "100,0.1,20,0.3311,59.0123"]
    small = find_preset("published-batch-2", "capacity")
    assert render(in_form([], small), "csv") == "Delay,Size,Concurrency,Average Latency (s),Requests/sec\n"


def test_rows_come_in_the_published_order_and_a_failed_trial_has_no_figures() -> None:
    trials = [measured(number=number) for number in range(250)]
    table = in_form(reversed(trials), BATCH_4)
    published = [tuple(row.values())[1:4] for row in at_scale(BATCH_4, TENTH, ["hey"]).rows]
    assert [row[:3] for row in table.rows] == published
    failed = trial(
        "go-net-http", 0, outcome=Outcome.CRASHED, validity=None, capacity_point=trials[0].get(CapacityPoint)
    )
    assert in_form([failed], BATCH_4).rows == ((100, 0.1, 20, None, None),)


def test_repeats_are_their_median_and_several_subjects_are_named() -> None:
    repeats = [measured(per_s, latency) for per_s, latency in ((58, 0.3), (59, 0.5), (70, 0.4))]
    (one,) = measured_rows(repeats, BATCH_4)
    assert (one["Requests/sec"], one["Average Latency (s)"], one["held"], one["limit"]) == (59, 0.4, "yes", "bandwidth")
    two = in_form([*repeats, measured(subject="hey")], BATCH_4)
    assert [column.name for column in two.columns][:2] == ["subject", "Delay"]
    assert [row[0] for row in two.rows] == ["go-net-http", "hey"]


def test_the_comparison_has_the_unscaled_publication() -> None:
    table = comparison_table([measured(59.6, 0.33)], BATCH_4, TENTH)
    row = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert (row["Bandwidth"], row["published Bandwidth"], row["Concurrency"], row["published Concurrency"]) == (
        0.1, 1, 20, 200,
    )  # fmt: skip
    assert (row["published Average Latency (s)"], row["published Requests/sec"]) == (0.3265, 596.0308)
    assert row["latency ratio"] == pytest.approx(0.33 / 0.3265, abs=1e-3)
    assert row["rate ratio"] == pytest.approx(1.0, abs=1e-3)
    notes = [note.text for note in table.notes]
    assert "249 of 250 published points were not measured" in notes
    assert any(note.startswith("scale 1/10: ") for note in notes)
    assert any("Delay is mislabelled" in note for note in notes)
    assert not table.columns[0].shown


def test_rounded_concurrency_is_compared_at_its_own_share() -> None:
    preset = find_preset("published-batch-3", "capacity")
    point = next(iter(preset_axes(preset, TENTH).points()))
    one = trial(
        "go-net-http",
        0,
        experiment="capacity",
        capacity_point=point,
        capacity=CapacitySummary(9, 0, 10**9, 9.9, 0.1005e9),
    )
    table = comparison_table([one], preset, TENTH)
    row = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    # One in flight stays one: it is the whole of the published row, not a tenth of it.
    assert (row["Concurrency"], row["published Concurrency"]) == (1, 1)
    assert row["rate ratio"] == pytest.approx(9.9 / 9.958, abs=1e-3)
    assert "published Size" not in row


def test_unscaled_the_published_places_are_not_repeated() -> None:
    point = next(
        iter(
            preset_axes(
                BATCH_4,
            ).points()
        )
    )
    summary = CapacitySummary(900, 0, 10**9, 598.0, 0.33e9, held=False, limit="bandwidth")
    whole = trial("go-net-http", 0, experiment="capacity", capacity_point=point, capacity=summary)
    table = comparison_table([whole], BATCH_4, Fraction(1))
    names = [column.name for column in table.columns]
    assert "published Concurrency" not in names
    assert table.rows[0][names.index("published Requests/sec")] == 596.0308
    assert table.rows[0][names.index("held")] == "no"


def test_the_comparison_names_the_validity_of_trials() -> None:
    limited = replace(measured(), validity=Validity.ORIGIN_LIMITED)
    assert measured_rows([limited], BATCH_4)[0]["held"] == "yes, ORIGIN_LIMITED"
    refused = replace(limited, figures=figures_of(limited[CapacityPoint]), validity=Validity.LINK_LIMITED)
    assert measured_rows([refused], BATCH_4)[0]["held"] == "LINK_LIMITED"
