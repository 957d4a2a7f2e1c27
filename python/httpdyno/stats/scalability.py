"""Gunther's Universal Scalability Law: throughput as a function of concurrency, in three numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from httpdyno.stats.summary import FloatArray

FEWEST_POINTS: Final = 4
"""Three parameters fit any three points exactly: a fourth point can contradict them."""
_NO_LOSS: Final = 1e-4
"""A parameter is 0 if the sum of squares without it is larger by at most this share."""
_STARTS: Final = ((0.0, 0.0), (0.01, 1e-5), (0.1, 1e-4), (0.5, 1e-3))
"""Initial contention and coherency of the searches: the best result counts."""


@dataclass(frozen=True, slots=True)
class NotEnoughPoints:
    """Too few different concurrencies to fit the law."""

    points: int
    """Different concurrencies with a throughput above 0."""

    def __str__(self) -> str:
        return f"not enough points for a law: {self.points} different concurrencies instead of {FEWEST_POINTS}"


@dataclass(frozen=True, slots=True)
class ScalabilityLaw:
    """X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), where N requests are in flight."""

    rate: float
    """Lambda: the throughput of one request in flight."""
    contention: float
    """Sigma, 0 to 1: the serial share of the work."""
    coherency: float
    """Kappa, 0 or more: the cost of coherency for each pair; 0: throughput never falls."""
    residual: float
    """Root mean square of the differences between logarithms of throughput and law: 0.05 is about 5 %."""

    def throughput(self, concurrency: float) -> float:
        """Return X(N)."""
        n, sigma, kappa = concurrency, self.contention, self.coherency
        return self.rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))

    @property
    def peak(self) -> float | None:
        """The N with the highest throughput, 1 or more; None when it never falls (kappa = 0)."""
        if self.coherency == 0:
            return None
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency))

    @property
    def half_gain(self) -> float | None:
        """The N at which dX/dN = lambda / 2: one more adds half as much as the first; None if sigma = kappa = 0."""
        if self.contention == 0 and self.coherency == 0:
            return None
        if self._gain(1.0) <= 1 / 2:
            return 1.0
        from scipy.optimize import brentq

        # The gain is 0 at the peak, and less than 1/4 at 1 + 1 / sigma where there is none.
        high = self.peak or 1 + 1 / self.contention
        return float(brentq(lambda n: self._gain(n) - 1 / 2, 1.0, high, xtol=1e-12))

    def _gain(self, concurrency: float) -> float:
        """dX/dN as a share of lambda."""
        n, sigma, kappa = concurrency, self.contention, self.coherency
        return (1 - sigma - kappa * n * n) / (1 + sigma * (n - 1) + kappa * n * (n - 1)) ** 2


def fit_scalability(concurrency: Sequence[float], throughput: Sequence[float]) -> ScalabilityLaw | NotEnoughPoints:
    """Fit the law to measured throughput, by bounded nonlinear least squares of the logarithms.

    Disturbances multiply the throughput, so that a difference of 5 % counts the same everywhere. Sigma and kappa are
    exactly 0 unless the values require more.

    Parameters
    ----------
    concurrency, throughput : shape (n,)
        One value per trial, in any order; trials with a throughput of 0 or less are left out.

    Returns
    -------
    ScalabilityLaw or NotEnoughPoints
        ``NotEnoughPoints`` with fewer than four different concurrencies.

    References
    ----------
    Gunther, Guerrilla Capacity Planning (2007), chapters 4 to 6; the same, A General Theory of Computational
    Scalability Based on Rational Functions, arXiv:0808.1431 (2008).
    """
    known = [(n, x) for n, x in zip(concurrency, throughput, strict=True) if n >= 1 and x > 0]
    different = len({n for n, _ in known})
    if different < FEWEST_POINTS:
        return NotEnoughPoints(different)
    n, x = (np.array(values, dtype=np.float64) for values in zip(*known, strict=True))
    fits = [_fit(n, x, free) for free in ((True, True), (True, False), (False, True), (False, False))]
    # The simplest fit that is as good as the one with all parameters.
    bound = fits[0][1] * (1 + _NO_LOSS) + len(n) * 1e-12
    (rate, sigma, kappa), squares = next(fit for fit in reversed(fits) if fit[1] <= bound)
    return ScalabilityLaw(rate, sigma, kappa, math.sqrt(squares / len(n)))


def _fit(n: FloatArray, x: FloatArray, free: tuple[bool, bool]) -> tuple[tuple[float, float, float], float]:
    """Fit lambda and those of sigma and kappa that are free; return all three and the sum of squares."""
    from scipy.optimize import least_squares

    # The best lambda for given sigma and kappa is a geometric mean.
    logs, places = np.log(x / n), np.flatnonzero(free)
    # With equal effects kappa is a thousand times smaller than sigma.
    terms, upper = np.array([n - 1, n * (n - 1) / 1000])[places], np.array([1.0, np.inf])[places]
    starts = np.array([(sigma, kappa * 1000) for sigma, kappa in _STARTS])[:, places]

    def misses(values: FloatArray) -> FloatArray:
        left = logs + np.log1p(values @ terms)
        return np.asarray(left - left.mean(), dtype=np.float64)

    def squares(values: FloatArray) -> float:
        return float(np.sum(misses(values) ** 2))

    firsts = np.clip(starts, 1e-9, upper) if len(places) else []
    found = [least_squares(misses, one, bounds=(0, upper), xtol=1e-12, ftol=1e-12).x for one in firsts]
    best = min(found, key=squares, default=np.zeros(0))
    sigma, kappa = np.bincount(places, best, minlength=2)
    rate = math.exp(float((logs + np.log1p(best @ terms)).mean()))
    return (rate, float(sigma), float(kappa) / 1000), squares(best)
