"""Start times in every form that a language's standard library writes."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpdyno.judge import start_time
from httpdyno.judge.start_time import read_start_times

S, MS, US = 10**9, 10**6, 10**3
NOON = 1729512000 * S  # 2024-10-21T12:00:00Z


def read(*texts: str | None) -> list[tuple[int | None, int | None]]:
    return read_start_times(pl.Series(texts, dtype=pl.String)).rows()


@pytest.mark.parametrize(
    ("text", "start_ns", "precision_ns"),
    [
        ("2024-10-21T12:00:00", NOON, S),
        ("2024-10-21T12:00:00Z", NOON, S),
        ("2024-10-21t12:00:00z", NOON, S),
        ("2024-10-21 12:00:00 UTC", NOON, S),
        ("2024-10-21T12:00:00.5Z", NOON + S // 2, 100 * MS),
        ("2024-10-21T12:00:00.123Z", NOON + 123 * MS, MS),
        ("2024-10-21T12:00:00.123456+00:00", NOON + 123456 * US, US),
        ("2024-10-21T12:00:00.123456789Z", NOON + 123456789, 1),
        ("2024-10-21T12:00:00.1234567891Z", NOON + 123456789, 1),
        ("2024-10-21T14:00:00.000+02:00", NOON, MS),
        ("2024-10-21T14:00:00.000+0200", NOON, MS),
        ("2024-10-21T14:00:00+02", NOON, S),
        ("2024-10-21 08:30:00.25 -0330", NOON + S // 4, 10 * MS),
        ("2024-10-21T14:00:00.1+02:00[Europe/Berlin]", NOON + S // 10, 100 * MS),
        ("2024-10-21T12:00", NOON, S),
        ("2024-10-21T12:00Z", NOON, S),
        ("2024-10-21T14:00+02:00[Europe/Berlin]", NOON, S),
    ],
)
def test_forms(text: str, start_ns: int, precision_ns: int) -> None:
    assert read(text) == [(start_ns, precision_ns)]


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "now",
        "1729512000",
        "2024-10-21",
        "2024-13-21T12:00:00Z",
        "2024-10-32T12:00:00Z",
        "2024-10-21T25:00:00Z",
        "2024-10-21T12:00:00.",
        "2024-10-21T12:00:00.Z",
        "2024-10-21T12:00:00.1.2",
        "2024-10-21T12:00:00+25:00",
        "2024-10-21T12:00:00+1",
        "2024-10-21T12:00:00 EST",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "+2024-10-21T12:00:0",
        "2024-10-21T12:00:00.٣",
        "日本" * 20,
        "\x00" * 30,
    ],
)
def test_what_is_no_start_time_is_null(text: str | None) -> None:
    assert read(text) == [(None, None)]


def test_an_odd_one_does_not_change_those_beside_it() -> None:
    assert read("2024-10-21T12:00:00.5Z", None, "x", "2024-10-21T12:00Z", "2024-10-21T14:00:00+02:00") == [
        (NOON + S // 2, 100 * MS),
        (None, None),
        (None, None),
        (NOON, S),
        (NOON, S),
    ]


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30)),
            st.integers(-14 * 60, 14 * 60),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_python_writes_reads_back(moments: list[tuple[datetime, int]]) -> None:
    aware = [moment.replace(tzinfo=timezone(timedelta(minutes=minutes))) for moment, minutes in moments]
    expected = [(moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * US for moment in aware]
    assert [start for start, _ in read(*(moment.isoformat() for moment in aware))] == expected


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_text_is_read_or_null(texts: list[str]) -> None:
    rows = read(*texts)
    assert len(rows) == len(texts)
    assert all((start is None) == (precision is None) for start, precision in rows)


FORMS = ["", ".{}", ".{}456", ".{}456789", ".{}456789012", ",{}", ".x{}"]
ZONES = ["", "Z", "z", "+00:00", "+02:00", "-0330", "[UTC]", "+02:00[Europe/Berlin]", "\u00a0+02:00", "?"]
ODD_MOMENTS = [
    ("2024-10-22T", "12:00:00", "123"),
    ("2024-10-21 ", "12:00:00", "123"),
    ("é024-10-21", "12:00:00", "123"),
    ("2024-10-21T", "24:00:00", "123"),
    ("2024-10-21T", "12:60:00", "123"),
    ("2024-10-21T", "12:00:60", "123"),
    ("2024-10-21T", "12:00:61", "123"),
    ("2024-10-21T", "1x:00:00", "123"),
    ("2024-10-21T", "12.00.00", "123"),
    ("2024-10-21T", "12:00", "123"),
    ("2024-10-21T", "12:00:00", "1x3"),
    ("2024-10-21T", "12:00:00", "+12"),
]
MOMENTS = st.tuples(
    st.just("2024-10-21T"),
    st.sampled_from(["12:00:00", "12:00:01", "12:34:56", "23:59:59"]),
    st.sampled_from(["000", "001", "999"]),
)


@pytest.mark.parametrize("odd", [*ODD_MOMENTS, None])
@given(st.sampled_from(FORMS), st.sampled_from(ZONES), st.lists(MOMENTS, min_size=1, max_size=5), st.booleans())
@settings(max_examples=20)
def test_times_read_by_the_table_are_the_same_as_those_read_with_care(
    odd: tuple[str, str, str] | None, form: str, zone: str, moments: list[tuple[str, str, str]], first: bool
) -> None:
    together = moments if odd is None else [odd, *moments] if first else [*moments, odd]
    texts = pl.Series([f"{day}{time}{form.format(fraction)}{zone}" for day, time, fraction in together])
    assert read_start_times(texts).equals(start_time._read_any(texts))
