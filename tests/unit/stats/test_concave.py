import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats.concave import fit_concave


def test_what_is_concave_already_is_left_alone() -> None:
    x = np.log([1.0, 4, 16, 64, 256])
    y = np.log([1.0, 4, 16, 50, 50])

    curve = fit_concave(x, y, steepest=1.0)

    assert curve.y == pytest.approx(y)
    assert curve.residual == pytest.approx(0)
    assert curve.at(x[1]) == pytest.approx(y[1])


def test_a_dip_is_drawn_straight() -> None:
    curve = fit_concave(np.array([0.0, 1.0, 2.0]), np.array([0.0, -3.0, 0.0]))

    assert curve.y == pytest.approx([-1.0, -1.0, -1.0])
    assert curve.pieces == 1


def test_the_first_piece_is_no_steeper_than_it_may_be() -> None:
    curve = fit_concave(np.array([0.0, 1.0]), np.array([0.0, 3.0]), steepest=1.0)

    assert np.diff(curve.y) == pytest.approx([1.0])
    assert curve.y.mean() == pytest.approx(1.5)


@pytest.mark.parametrize(("x", "height"), [(-1.0, 2.0), (0.0, 2.0), (9.0, 2.0)])
def test_one_value_is_a_level(x: float, height: float) -> None:
    curve = fit_concave(np.array([0.0]), np.array([2.0]))

    assert curve.at(x) == height
    assert curve.pieces == 0


def test_a_value_of_more_weight_draws_the_curve_to_it() -> None:
    x, y = np.array([0.0, 0.0]), np.array([0.0, 1.0])

    assert fit_concave(x, y, np.array([1.0, 3.0])).at(0.0) == pytest.approx(0.75)


def test_nothing_has_no_curve() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        fit_concave(np.empty(0), np.empty(0))


@given(st.lists(st.tuples(st.integers(0, 8), st.floats(-3, 3)), min_size=1, max_size=12))
def test_no_piece_is_steeper_than_the_one_before(points: list[tuple[int, float]]) -> None:
    x, y = (np.array(values, dtype=np.float64) for values in zip(*points, strict=True))

    curve = fit_concave(x, y, steepest=1.0)

    slopes = np.diff(curve.y) / np.diff(curve.x)
    assert (np.diff(slopes) <= 1e-6).all()
    assert (slopes <= 1 + 1e-6).all()
    assert curve.residual <= float(np.sum((y - y.mean()) ** 2)) + 1e-6, "a level curve is concave, too"
