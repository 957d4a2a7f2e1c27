"""Durations, sizes and sets of CPUs as they are typed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.model import (
    format_cpus,
    format_exact,
    format_rate,
    format_size,
    format_span,
    parse_cpus,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40ms", 40_000_000),
        ("600s", 600_000_000_000),
        ("5", 5_000_000_000),
        ("0.5", 500_000_000),
        ("1.5h", 5_400_000_000_000),
        ("10m", 600_000_000_000),
        ("10 min", 600_000_000_000),
        (" 3us ", 3_000),
        ("3µs", 3_000),
        ("7ns", 7),
        ("0", 0),
        ("0.1ns", 0),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration_ns(text) == expected


def test_a_bare_number_gets_the_default_unit() -> None:
    assert parse_duration_ns("40", bare_unit="ms") == 40_000_000


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "1e3", "5 parsecs", "1.2.3s", "٣s", "9" * 40, "999999999999h", "5s\n6s"]
)
def test_a_duration_that_is_none_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^timeout: .*write it like 40ms"):
        parse_duration_ns(text, name="timeout")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GiB", 2 * 1024**3), ("512MB", 512_000_000), ("4096", 4096), ("1.5KiB", 1536), ("64 kB", 64_000), ("3B", 3)],
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "GiB", "-1", "2gib", "2 Gb", "1e9", "9" * 30])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="write it like 2GiB"):
        parse_size_bytes(text)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024 * 1024 - 1, "1.0 MiB"),
        (1024 * 1000, "1000.0 KiB"),
        (3.5 * 1024**3, "3.5 GiB"),
        (5000 * 1024**3, "5000.0 GiB"),
    ],
)
def test_sizes_for_people(size: float, expected: str) -> None:
    assert format_size(size) == expected


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(InvalidValue):
        format_size(-1)


@given(st.integers(min_value=0, max_value=2**60))
def test_a_size_written_for_people_reads_back_within_its_rounding(size: int) -> None:
    text = format_size(size)
    assert parse_size_bytes(text) == pytest.approx(size, rel=0.05, abs=0.5)
    assert float(text.split()[0]) < 1024 or text.endswith("GiB")


@pytest.mark.parametrize(
    ("number", "text"),
    [(5.0, "5"), (7, "7"), (100, "100"), (2.5, "2.5"), (1e16, "10000000000000000"), (1e-9, "0.000000001"), (0.0, "0")],
)
def test_exact_numbers_have_no_exponent(number: float, text: str) -> None:
    assert format_exact(number) == text


@given(st.floats(0, 1e12))
def test_exact_numbers_are_read_back_unchanged(number: float) -> None:
    assert float(format_exact(number)) == number
    assert "e" not in format_exact(number)


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_what_is_no_number_is_not_written(number: float) -> None:
    with pytest.raises(InvalidValue):
        format_exact(number)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"),
        (7.4, "7 s"),
        (12, "10 s"),
        (88, "90 s"),
        (90, "2 min"),
        (420, "7 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (86400, "24.0 h"),
    ],
)
def test_spans_are_written_no_finer_than_they_can_be_foreseen(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


@pytest.mark.parametrize("seconds", [-1, math.inf, math.nan])
def test_what_is_no_span_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidValue, match="is not a duration"):
        format_span(seconds)


@pytest.mark.parametrize(
    ("text", "bits_per_s", "shown"),
    [
        ("1gbit", 10**9, "1 Gbit/s"),
        ("2.5Gbit/s", 2_500_000_000, "2.5 Gbit/s"),
        ("640 kbit", 640_000, "640 kbit/s"),
        ("1234567bit", 1_234_567, "1.234567 Mbit/s"),
        ("3bit/s", 3, "3 bit/s"),
    ],
)
def test_a_rate_is_read_and_shown_with_all_of_its_digits(text: str, bits_per_s: int, shown: str) -> None:
    assert parse_rate_bits_per_s(text) == bits_per_s
    assert format_rate(bits_per_s) == shown


@given(st.integers(1, 10**13))
def test_a_rate_reads_back_as_it_is_shown(bits_per_s: int) -> None:
    assert parse_rate_bits_per_s(format_rate(bits_per_s)) == bits_per_s


@pytest.mark.parametrize("text", ["", "1", "1gb", "-1gbit", "0mbit", "gbit", "1gbit/h", "0.1bit"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"^--link-rate: .*write it like 1gbit"):
        parse_rate_bits_per_s(text, name="--link-rate")


@pytest.mark.parametrize("rate", [0, -1])
def test_no_rate_is_not_shown(rate: int) -> None:
    with pytest.raises(InvalidValue, match="more than 0"):
        format_rate(rate)


@pytest.mark.parametrize(
    ("text", "numbers"), [("0", {0}), ("2-3", {2, 3}), ("0,2-3, 7", {0, 2, 3, 7}), ("1,1-2", {1, 2}), ("5-5", {5})]
)
def test_numbers_and_ranges_are_read(text: str, numbers: set[int]) -> None:
    assert parse_cpus(text) == numbers


@pytest.mark.parametrize("text", ["", "a", "3-1", "1,", "-1", "1-", "1-2-3", "999999", "²"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="--cpus: .* is not understood; write numbers and ranges"):
        parse_cpus(text, name="--cpus")


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_set_is_written_as_it_is_read(numbers: set[int]) -> None:
    assert parse_cpus(format_cpus(numbers)) == numbers


def test_neighbours_are_written_as_a_range() -> None:
    assert format_cpus([5, 0, 1, 2, 7]) == "0-2,5,7"
