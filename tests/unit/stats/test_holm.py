"""Holm's correction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import holm

p_values = st.lists(st.floats(0, 1), max_size=20).map(np.array)


def test_by_hand() -> None:
    # Sorted 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1 is below what stands before it and takes that over.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_none_and_one() -> None:
    assert holm([]).tolist() == []
    assert holm([0.03]).tolist() == [0.03]


def test_each_row_is_a_family() -> None:
    rows = np.array([[0.01, 0.04], [0.5, 0.001]])
    assert holm(rows).tolist() == [holm(rows[0]).tolist(), holm(rows[1]).tolist()]


@given(p_values)
def test_between_none_and_bonferroni_in_the_same_order(values: np.ndarray) -> None:
    adjusted = holm(values)
    assert (adjusted >= values).all()
    assert (adjusted <= np.minimum(values * max(len(values), 1), 1) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(values, kind="stable")]) >= 0).all()
