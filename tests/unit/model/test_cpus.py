"""Sets of CPUs as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.model import format_cpus, parse_cpus


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
