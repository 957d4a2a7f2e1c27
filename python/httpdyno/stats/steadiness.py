"""Steadiness of a series: the length of its warm-up, and its drift after that."""

from typing import Final

import numpy as np

from httpdyno.model import Interval
from httpdyno.stats.summary import FloatArray, two_sided_quantile

FEWEST_VALUES: Final = 30
"""Smallest number of values in which a drift is searched."""
LONGEST_WARM_UP: Final = 0.25
"""Largest share of a series that is its warm-up."""
_BATCH: Final = 5
_LEVEL: Final = 0.99
_STRONGEST_DEPENDENCE: Final = 0.9
_FEWEST_FREEDOM: Final = 2.0


def warm_up_length(values: FloatArray, *, longest: float = LONGEST_WARM_UP) -> int:
    """Return the length of a series' warm-up, in values: MSER-5.

    The values are averaged five by five. Dropping the first averages removes bias if they differ from the rest, and
    always removes evidence; the number to drop is the one after which the mean of the rest is known best, which is
    where the sum of its squared deviations over the square of their count is smallest.

    By default at most a quarter is dropped. White allows a half; but a series that still falls after a quarter drifts
    rather than warms up, and half of a drifting series shows half of its drift, in half of the values.

    Parameters
    ----------
    values : shape (n,)
        In the order of time, at equal distances.
    longest : float
        The share that may be dropped, up to a half.

    Returns
    -------
    int
        A multiple of five, at most that share of n; 0 if the series is settled from its beginning, or if n < 20.

    References
    ----------
    White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997), 323-334.
    White, Cobb and Spratt, A comparison of five steady-state truncation heuristics for simulation, Winter Simulation
    Conference (2000), 755-760: batches of five.
    """
    count = len(values) // _BATCH
    means = values[: count * _BATCH].reshape(count, _BATCH).mean(axis=1)
    candidates = range(int(count * longest) + 1)
    errors = [np.var(means[dropped:]) / (count - dropped) if count else 0.0 for dropped in candidates]
    return _BATCH * int(np.argmin(errors))


def drift_interval(values: FloatArray) -> Interval | None:
    """Return the difference of the last third of a series from its first third, as a share of the mean of all.

    This is Geweke's diagnostic of convergence, with thirds in place of his first tenth and last half. It finds a slope
    as well as a step, wherever the step is, and the larger they are the more certainly. (In tests for a trend, Mann and
    Kendall's with Hamed and Rao's correction for one, a step makes the rest look dependent, so that a speed that halves
    is found less often than one that falls by a third.)

    The interval is Student's. Values of one process depend on each other: their spread and their correlation are
    estimated within the thirds, around a line through each, so that the drift itself counts as neither; the effective
    number of values is smaller because of the correlation. Changes that take longer than a third count as drift.

    Parameters
    ----------
    values : shape (n,)
        In the order of time, at equal distances, without their warm-up. From 60 on they are averaged into 30 to 59
        batches first, which are less dependent on each other.

    Returns
    -------
    Interval or None
        Of 99 %; -0.5 is a loss of half of the mean. None if n < 30, or if the mean is not above 0.

    References
    ----------
    Geweke, Evaluating the accuracy of sampling-based approaches to the calculation of posterior moments, Bayesian
    Statistics 4 (1992), 169-193.
    Zwiers and von Storch, Taking serial correlation into account in tests of the mean, Journal of Climate 8 (1995),
    336-351: the effective number of values.
    Marriott and Pope, Bias in the estimation of autocorrelations, Biometrika 41 (1954), 390-402.
    """
    if len(values) < FEWEST_VALUES or not np.mean(values) > 0:
        return None
    size = len(values) // FEWEST_VALUES
    batches = values[len(values) % size :].reshape(-1, size).mean(axis=1)
    third = len(batches) // 3
    first, last = batches[:third], batches[-third:]
    rest = [_detrend(first), _detrend(last)]
    squares = sum(float(part @ part) for part in rest)
    correlation = _correlation(rest, squares)
    growth = (1 + correlation) / (1 - correlation)
    freedom = 2 * (third - 2)
    error = (2 * squares / freedom / third * growth) ** 0.5
    reach = error * two_sided_quantile(_LEVEL, max(freedom / growth, _FEWEST_FREEDOM))
    difference, mean = float(last.mean() - first.mean()), float(batches.mean())
    return Interval(difference / mean, (difference - reach) / mean, (difference + reach) / mean, _LEVEL)


def _detrend(values: FloatArray) -> FloatArray:
    places = np.arange(len(values)) - (len(values) - 1) / 2
    rest = values - values.mean()
    return np.asarray(rest - places * (places @ rest) / (places @ places))


def _correlation(rest: list[FloatArray], squares: float) -> float:
    """Autocorrelation of neighbours, limited to 0 (negative ones are chance) to 0.9."""
    if squares == 0:  # no value varies
        return 0.0
    raw = sum(float(part[1:] @ part[:-1]) for part in rest) / squares
    # A line that is fitted to few values removes part of their correlation.
    unbiased = raw + (2 + 4 * max(raw, 0.0)) / len(rest[0])
    return min(max(unbiased, 0.0), _STRONGEST_DEPENDENCE)
