"""A concave curve through noisy values: what throughput over concurrency looks like on logarithmic scales."""

from dataclasses import dataclass

import numpy as np

from httpdyno.stats.arrays import FloatArray

__all__ = ["ConcaveCurve", "fit_concave"]


@dataclass(frozen=True, slots=True)
class ConcaveCurve:
    """A curve of straight pieces, none of them steeper than the one before it."""

    x: FloatArray
    """Its corners, shape (m,), ascending."""
    y: FloatArray
    """Its height at each of them, shape (m,)."""
    residual: float
    """Sum of the weighted squares by which the values miss it."""
    pieces: int
    """Straight pieces of different slope: 0 for a single corner."""

    def at(self, x: float) -> float:
        """Return the height at a place between the corners; beyond them that of the nearest one."""
        return float(np.interp(x, self.x, self.y))


def fit_concave(
    x: FloatArray, y: FloatArray, weights: FloatArray | None = None, *, steepest: float = np.inf
) -> ConcaveCurve:
    """Fit the concave curve that is nearest to the values, by least squares.

    It is a first slope and a bend down at each value of ``x`` between the ends: linear in both, with bounds.

    Parameters
    ----------
    x, y : shape (n,), n >= 1
        In any order; ``x`` may repeat.
    weights : shape (n,), optional
        How much each value counts, above 0; None: all the same.
    steepest : float
        The largest slope that the first piece may have. Of throughput over concurrency, both as logarithms, it is 1:
        twice the requests in flight give at most twice the answers.

    Raises
    ------
    ValueError
        If n = 0.

    References
    ----------
    Hildreth, Point estimates of ordinates of concave functions, Journal of the American Statistical Association 49
    (1954).
    """
    from scipy.optimize import lsq_linear

    if len(x) == 0:
        raise ValueError("a curve needs at least one value")
    scale = np.sqrt(np.ones(len(x)) if weights is None else weights)
    corners = np.unique(x)
    design = _design(x, corners)
    lowest, highest = np.zeros(design.shape[1]), np.full(design.shape[1], np.inf)
    lowest[:2], highest[1:2] = -np.inf, steepest
    solved = lsq_linear(design * scale[:, None], y * scale, bounds=(lowest, highest), method="bvls")
    bends = int(np.sum(solved.x[2:] > 1e-9))  # what is left of zero by arithmetic
    return ConcaveCurve(
        corners,
        _design(corners, corners) @ solved.x,
        float(np.sum((scale * (design @ solved.x - y)) ** 2)),
        bends + 1 if len(corners) > 1 else 0,
    )


def _design(x: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the columns: a height, a slope, and what each corner between the ends takes off behind it."""
    columns = [np.ones(len(x))]
    if len(corners) > 1:
        columns.append(x - corners[0])
    columns += [-np.maximum(x - corner, 0.0) for corner in corners[1:-1]]
    return np.column_stack(columns)
