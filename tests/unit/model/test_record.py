"""Records: from annotated dataclasses to columns and back."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.model import (
    Count,
    Counters,
    CpuTime,
    Field,
    LinesSummary,
    Loop,
    MemoryPoint,
    Outcome,
    Sample,
    Tally,
    Trial,
    Validity,
    Verdict,
    figures_of,
    flatten,
    restore,
    schema,
)
from httpdyno.model.record import Embedded, Recorded


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    size: Annotated[int | None, Recorded("how large", unit="bytes", type="int32")] = None


@dataclass(frozen=True)
class Outer:
    name: Annotated[str, Recorded("what it is called")]
    colour: Annotated[Colour, Recorded("its colour")]
    inner: Annotated[Inner | None, Embedded("inner_")] = None
    counts: Annotated[tuple[Count, ...] | None, Recorded("what was seen")] = None


def test_the_schema_follows_the_annotations() -> None:
    assert schema(Outer) == (
        Field("name", "text", False, "what it is called"),
        Field("colour", "category", False, "its colour", categories=("red",)),
        Field("inner_size", "int32", True, "how large", "bytes"),
        Field("counts", None, True, "what was seen", members=schema(Count)),
    )


def test_flatten_names_values_as_the_schema_does() -> None:
    outer = Outer("x", Colour.RED, Inner(3), (Count("a", 1),))
    assert flatten(outer) == {"name": "x", "colour": "red", "inner_size": 3, "counts": [{"name": "a", "count": 1}]}
    assert list(flatten(Outer("x", Colour.RED))) == [field.name for field in schema(Outer)]


def test_restore_refuses_what_no_record_can_be() -> None:
    with pytest.raises(TypeError, match="name is missing"):
        restore(Outer, {"colour": "red"})
    with pytest.raises(ValueError, match="blue"):
        restore(Outer, {"name": "x", "colour": "blue"})


def test_a_field_without_a_description_is_refused() -> None:
    @dataclass
    class Bare:
        name: str

    with pytest.raises(TypeError, match=r"Bare\.name"):
        schema(Bare)


@pytest.mark.parametrize("record", [Trial, Sample])
def test_the_columns_of_a_record_have_names_of_their_own_and_a_meaning(record: type) -> None:
    columns = schema(record)
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(column.description for column in columns)
    endings = {"ns": "_ns", "bytes": "_bytes", "us": "_us"}
    wrong = [
        c.name
        for c in columns
        if c.unit in endings and not c.name.endswith((endings[c.unit], "_body_length", "body_length"))
    ]
    assert wrong == []


def test_a_trial_counts_every_verdict() -> None:
    assert {verdict.value for verdict in Verdict} == {field.name for field in fields(Tally)} - {
        "explained",
        "explained_cases",
        "surely_wrong",
    }


def _optional(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


_COUNTERS = st.builds(
    Counters,
    wall_ns=_optional(st.integers(0, 2**62)),
    memory=_optional(st.lists(st.builds(MemoryPoint, st.integers(0, 9), st.integers(0, 9))).map(tuple)),
    cpus=_optional(
        st.lists(
            st.builds(CpuTime, *[st.integers(0, 9) if f.name != "role" else st.text() for f in fields(CpuTime)])
        ).map(tuple)
    ),
    statuses=_optional(st.lists(st.builds(Count, st.text(), st.integers(0, 9))).map(tuple)),
    out_of_memory=_optional(st.booleans()),
)
_POINTS = st.builds(
    CapacityPoint,
    *[st.integers(0, 10**10)] * 3,
    rate_bits_per_s=_optional(st.integers(1, 10**12)),
    queue_ns=_optional(st.integers(0, 10**9)),
    concurrency=st.integers(1, 1000),
    loop=st.sampled_from(Loop),
    target_per_s=st.floats(1e-3, 1e6),
)
_SUMMARIES = st.builds(
    CapacitySummary,
    *[st.integers(0, 10**10)] * 3,
    per_s=_optional(st.floats(0, 1e9)),
    held=_optional(st.booleans()),
    why_not=_optional(st.text()),
)
_LINES = st.builds(LinesSummary, urls=st.integers(0, 9), mean_ns=_optional(st.floats(0, 1e9)))
TRIALS = st.builds(
    Trial,
    *[st.integers(0, 9)] * 3,
    *[st.text()] * 6,
    concurrency=st.integers(1, 1000),
    web=st.text(),
    seed=st.integers(0, 2**60),
    link=st.text(),
    timeout_ns=st.integers(1, 10**12),
    keepalive=st.booleans(),
    check=st.text(),
    http_version=st.text(),
    urls_given=st.integers(0, 10**7),
    outcome=st.sampled_from(Outcome),
    reason=_optional(st.text()),
    validity=_optional(st.sampled_from(Validity)),
    validity_reason=_optional(st.text()),
    tally=_optional(st.builds(Tally, right=st.integers(0, 9))),
    counters=_COUNTERS,
    figures=st.builds(figures_of, _LINES, _POINTS, _SUMMARIES),
)


@given(TRIALS)
def test_a_trial_comes_back_from_its_columns(trial: Trial) -> None:
    again = restore(Trial, {**flatten(trial), "figures": trial.figures})
    assert again == trial
    assert figures_of(again[LinesSummary], again[CapacityPoint], again[CapacitySummary]) == trial.figures


def test_wrong_leaves_out_what_is_explained() -> None:
    tally = Tally(
        right=9, wrong_status=1, wrong_length=1, late=1, false_error=1, missed_error=1, wrong_time=1, not_reached=5
    )
    assert tally.wrong_in_all == 6
    assert replace(tally, explained=4).wrong == 2
