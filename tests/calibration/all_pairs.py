"""Simulated runs whose truth is known, and procedures that call pairs of subjects different."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

import numpy as np
from scipy.special import betaincinv, digamma, polygamma
from scipy.stats import studentized_range

from httpdyno.stats import BoolArray, FloatArray, all_pairs_p, compare_all_pairs, holm
from httpdyno.stats.summary import two_sided_p

LEVEL: Final = 0.05
SPREAD: Final = 0.012
"""Spread of a long trial's rate within a block: 1.2 %."""
RATES: Final = (234, 209, 195, 193, 114, 113, 105, 76.7, 75.7, 75.5, 59.5)
"""Right answers a second of the eleven usual clients (README)."""
CPU_MS: Final = (1.76, 3.25, 2.27, 1.91, 3.91, 4.85, 5.38, 2.64, 7.42, 6.62, 13.98)
"""CPU time of a right answer of the same clients."""

GROUPS: Final[dict[str, Callable[[int], FloatArray]]] = {
    "all equal": lambda count: np.zeros(count),
    "one pair": lambda count: np.maximum(np.arange(count) - 1.0, 0),
    "one triple": lambda count: np.maximum(np.arange(count) - 2.0, 0),
    "pairs": lambda count: np.arange(count) // 2 * 1.0,
    "halves": lambda count: np.arange(count) * 2 // count * 1.0,
}
"""Which subjects are equal: those of one number; all others are far apart."""


@dataclass(frozen=True)
class Scenario:
    """How a run is drawn."""

    subjects: int
    blocks: int
    spreads: str = "equal"
    """``equal``, ``sigma 0.5`` and ``sigma 1`` (log-normal), ``one x10``, ``two x10``."""
    errors: str = "normal"
    """``normal``, ``t3``, ``15 % missing``, ``half missing`` (of one subject), ``two kinds`` (subjects of two kinds
    that react to a block in opposite directions, as much as they scatter), ``one noisy block``, ``lopsided``."""
    equals: str = "all equal"

    @property
    def levels(self) -> FloatArray:
        return GROUPS[self.equals](self.subjects)


def draw(rng: np.random.Generator, scenario: Scenario, runs: int, levels: FloatArray, spread: float) -> FloatArray:
    """Draw logarithms of values, shape (runs, subjects, blocks), with block effects of 10 %."""
    shape = (runs, scenario.subjects, scenario.blocks)
    errors = {
        "t3": lambda: rng.standard_t(3, shape) / np.sqrt(3),
        "lopsided": lambda: rng.exponential(1, shape) - 1,
    }.get(scenario.errors, lambda: rng.standard_normal(shape))()
    if scenario.errors == "one noisy block":
        errors[..., 0] *= 4
    logs = levels[:, None] + errors * spread * _spreads(rng, scenario, runs)[..., None]
    logs += 0.1 * rng.standard_normal((runs, 1, scenario.blocks))
    if scenario.errors == "two kinds":
        kinds = rng.choice([-1, 1], (runs, scenario.subjects, 1))
        logs += kinds * spread * rng.standard_normal((runs, 1, scenario.blocks))
    if scenario.errors == "15 % missing":
        logs[rng.random(shape) < 0.15] = np.nan
    if scenario.errors == "half missing":
        blocks = rng.permuted(np.tile(np.arange(scenario.blocks), (runs, 1)), axis=1)[:, : scenario.blocks // 2]
        logs[np.arange(runs)[:, None], rng.integers(0, scenario.subjects, (runs, 1)), blocks] = np.nan
    return logs


def _spreads(rng: np.random.Generator, scenario: Scenario, runs: int) -> FloatArray:
    sigma = {"sigma 0.5": 0.5, "sigma 1": 1.0}.get(scenario.spreads, 0.0)
    spreads = np.exp(sigma * rng.standard_normal((runs, scenario.subjects)))
    spreads[:, : {"one x10": 1, "two x10": 2}.get(scenario.spreads, 0)] *= 10
    return spreads


Procedure = Callable[[FloatArray], BoolArray]
"""Which pairs it calls different, shape (runs, pairs), of logarithms of shape (runs, subjects, blocks)."""


def pairs_of(count: int) -> tuple[FloatArray, FloatArray]:
    first, second = np.triu_indices(count, 1)
    return first, second


@dataclass(frozen=True)
class Paired:
    """Means and variances of the differences of all pairs, and in how many blocks both were measured."""

    means: FloatArray
    variances: FloatArray
    blocks: FloatArray

    @classmethod
    def of(cls, logs: FloatArray) -> "Paired":
        first, second = pairs_of(logs.shape[-2])
        differences = logs[..., first, :] - logs[..., second, :]
        known = np.isfinite(differences)
        blocks = known.sum(axis=-1)
        means = np.where(known, differences, 0).sum(axis=-1) / np.maximum(blocks, 1)
        squares = np.where(known, differences - means[..., None], 0) ** 2
        return cls(means, squares.sum(axis=-1) / np.maximum(blocks - 1, 1), blocks)

    def p(self, variances: FloatArray, freedom: FloatArray) -> FloatArray:
        """P values by Student's t; NaN with fewer than three blocks."""
        enough = self.blocks >= 3
        t = np.where(enough, self.means / np.sqrt(np.where(enough, variances / np.maximum(self.blocks, 1), 1)), 0)
        return np.where(enough, two_sided_p(t, np.maximum(freedom, 1)), np.nan)


def paired_p(logs: FloatArray) -> FloatArray:
    paired = Paired.of(logs)
    return paired.p(paired.variances, paired.blocks - 1.0)


def by_holm(p_values: FloatArray) -> BoolArray:
    # A p of 1 for what cannot be tested makes the family larger, never smaller.
    return holm(np.nan_to_num(p_values, nan=1.0)) <= LEVEL


def paired_t_holm(logs: FloatArray) -> BoolArray:
    return by_holm(paired_p(logs))


def run_wide(logs: FloatArray) -> BoolArray:
    return compare_all_pairs(logs, paired_p(logs)) <= LEVEL


def run_wide_false_alarms(logs: FloatArray, equal: BoolArray) -> BoolArray:
    """Return which runs call an equal pair different; only those are adjusted in which one has a p below the level."""
    own_p = paired_p(logs)
    p_values = np.fmax(all_pairs_p(logs, own_p), own_p)[:, equal]
    possible = (p_values <= LEVEL).any(axis=-1)
    alarms = np.zeros(len(logs), dtype=np.bool_)
    if possible.any():
        alarms[possible] = (compare_all_pairs(logs[possible], own_p[possible])[:, equal] <= LEVEL).any(axis=-1)
    return alarms


def _residual_variances(logs: FloatArray) -> FloatArray:
    """Unbiased variances of subjects of equal spread from the residuals of a two-way table without gaps."""
    count, blocks = logs.shape[-2:]
    left = logs - logs.mean(axis=-1, keepdims=True) - logs.mean(axis=-2, keepdims=True)
    left += logs.mean(axis=(-2, -1), keepdims=True)
    variances: FloatArray = (left**2).sum(axis=-1) / (blocks - 1) * count / (count - 1)
    return variances


def _welch(logs: FloatArray, variances: FloatArray, freedoms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance of a pair's difference and its degrees of freedom."""
    first, second = pairs_of(logs.shape[-2])
    one, other = variances[..., first], variances[..., second]
    parts = one**2 / freedoms[..., first] + other**2 / freedoms[..., second]
    return one + other, (one + other) ** 2 / parts


@cache
def _studentized_range(count: int, level: float, freedom: float) -> float:
    return float(studentized_range.ppf(1 - level, count, freedom)) / np.sqrt(2)


def _critical(count: int, level: float, freedom: FloatArray) -> FloatArray:
    """Critical t of the studentized range, interpolated over degrees of freedom."""
    known = np.array([2, 3, 4, 5, 7, 10, 15, 30, 120.0])
    values = [_studentized_range(count, round(level, 6), float(of)) for of in known]
    return np.exp(np.interp(1 / freedom, 1 / known[::-1], np.log(values[::-1])))


def two_way_tukey(logs: FloatArray) -> BoolArray:
    count, blocks = logs.shape[-2:]
    pooled = 2 * _residual_variances(logs).mean(axis=-1, keepdims=True)
    t = np.abs(Paired.of(logs).means) / np.sqrt(pooled / blocks)
    return t >= _studentized_range(count, LEVEL, (count - 1) * (blocks - 1))


def games_howell(logs: FloatArray) -> BoolArray:
    variances = _residual_variances(logs)
    pair, freedom = _welch(logs, variances, np.full_like(variances, logs.shape[-1] - 1))
    t = np.abs(Paired.of(logs).means) / np.sqrt(pair / logs.shape[-1])
    return t >= _critical(logs.shape[-2], LEVEL, freedom)


def ranges_of_the_order(logs: FloatArray) -> BoolArray:
    """Ryan, Einot, Gabriel and Welsch: ranges of the order, from the widest to neighbours, are tested by their ends."""
    runs, count, blocks = logs.shape
    order = np.argsort(logs.mean(axis=-1), axis=-1)
    ordered = np.take_along_axis(logs, order[..., None], axis=-2)
    variances = _residual_variances(ordered)
    pair, freedom = _welch(ordered, variances, np.full_like(variances, blocks - 1))
    t = np.zeros((runs, count, count))
    first, second = pairs_of(count)
    freedoms = np.ones_like(t)
    t[:, first, second] = np.abs(Paired.of(ordered).means) / np.sqrt(pair / blocks)
    freedoms[:, first, second] = freedom
    different = np.zeros((runs, count + 1, count + 1), dtype=np.bool_)
    for width in range(count, 1, -1):
        level = LEVEL if width >= count - 1 else 1 - (1 - LEVEL) ** (width / count)
        for low in range(count - width + 1):
            high = low + width - 1
            wider = (low == 0 or different[:, low - 1, high]) & (high == count - 1 or different[:, low, high + 1])
            different[:, low, high] = wider & (t[:, low, high] >= _critical(width, level, freedoms[:, low, high]))
    places = np.argsort(order, axis=-1)
    one, other = places[:, first], places[:, second]
    return different[np.arange(runs)[:, None], np.minimum(one, other), np.maximum(one, other)]


def moderated(logs: FloatArray) -> BoolArray:
    """Smyth (2004): variances of subjects drawn towards their common one, as much as they seem to be alike."""
    own, variances = logs.shape[-1] - 1.0, _residual_variances(logs)
    logarithms = np.log(variances) - digamma(own / 2) + np.log(own / 2)
    excess = np.maximum(logarithms.var(axis=-1, ddof=1) - polygamma(1, own / 2), 1e-3)
    half = 0.5 + 1 / excess
    for _ in range(20):
        trigamma = polygamma(1, half)
        half = half + trigamma * (1 - trigamma / excess) / polygamma(2, half)
    prior = 2 * half[:, None]
    common = np.exp(logarithms.mean(axis=-1, keepdims=True) + digamma(prior / 2) - np.log(prior / 2))
    return _by_prior(logs, variances, own, common, prior)


def moderated_by_two(logs: FloatArray) -> BoolArray:
    """As ``moderated``, with two degrees of freedom for the common variance whatever the values say."""
    variances = _residual_variances(logs)
    common = np.median(variances, axis=-1, keepdims=True)
    return _by_prior(logs, variances, logs.shape[-1] - 1.0, common, np.full_like(common, 2.0))


def _by_prior(logs: FloatArray, variances: FloatArray, own: float, common: FloatArray, prior: FloatArray) -> BoolArray:
    drawn = (prior * common + own * variances) / (prior + own)
    pair, freedom = _welch(logs, drawn, np.broadcast_to(np.minimum(prior + own, own * logs.shape[-2]), drawn.shape))
    return by_holm(Paired.of(logs).p(pair, freedom))


def sign_flips(logs: FloatArray) -> BoolArray:
    """Westfall and Young: step down by the largest t over all sign changes of whole blocks; needs six blocks."""
    first, second = pairs_of(logs.shape[-2])
    differences, blocks = logs[:, first] - logs[:, second], logs.shape[-1]
    signs = np.array([(1, *rest) for rest in product([1, -1], repeat=blocks - 1)])
    means = differences @ signs.T / blocks
    spreads = (differences**2).mean(axis=-1)[..., None] - means**2
    t = np.abs(means) / np.sqrt(np.maximum(spreads, 1e-18))
    different = np.zeros(t.shape[:2], dtype=np.bool_)
    while True:
        largest = np.where(different[..., None], 0, t).max(axis=1)
        p_values = (largest[:, None, :] >= t[:, :, :1] * (1 - 1e-9)).mean(axis=-1)
        found = (p_values <= LEVEL) & ~different
        if not found.any():
            return different
        different |= found


def earlier_run(rng: np.random.Generator, scenario: Scenario) -> Procedure:
    """Variances of an earlier run of six blocks count as much as those of today; a day's spreads differ by 40 %.

    For scenarios whose spreads are not random.
    """

    def procedure(logs: FloatArray) -> BoolArray:
        own, variances = logs.shape[-1] - 1.0, _residual_variances(logs)
        spreads = SPREAD * _spreads(rng, scenario, len(logs)) * np.exp(0.4 * rng.standard_normal(variances.shape))
        earlier = spreads**2 * rng.chisquare(5, variances.shape) / 5
        pair, freedom = _welch(logs, (own * variances + 5 * earlier) / (own + 5), np.full_like(variances, own + 5))
        return by_holm(Paired.of(logs).p(pair, freedom))

    return procedure


REJECTED: Final[dict[str, Procedure]] = {
    "two-way analysis, Tukey": two_way_tukey,
    "moderated variances (Smyth), Holm": moderated,
    "moderated by two degrees of freedom, Holm": moderated_by_two,
    "Games and Howell": games_howell,
    "ranges of the order (Ryan)": ranges_of_the_order,
    "step down over sign changes": sign_flips,
}


SIX_BLOCKS_ONLY: Final = "step down over sign changes"


def false_alarms(
    rng: np.random.Generator, scenario: Scenario, runs: int, procedures: Sequence[Procedure] = ()
) -> list[float]:
    """Share of runs in which an equal pair is called different: by paired t and Holm, the run-wide test, and others."""
    logs = draw(rng, scenario, runs, scenario.levels, SPREAD)
    first, second = pairs_of(scenario.subjects)
    equal = scenario.levels[first] == scenario.levels[second]
    alarms = [paired_t_holm(logs)[:, equal].any(axis=-1), run_wide_false_alarms(logs, equal)]
    alarms += [procedure(logs)[:, equal].any(axis=-1) for procedure in procedures]
    return [float(of.mean()) for of in alarms]


def relabelled_alarms(
    rng: np.random.Generator, logs: FloatArray, relabellings: int, procedure: Procedure = run_wide
) -> float:
    """Share of random relabellings of one run of equals in which any pair is called different.

    The subjects are copies of one program, so that any of them could have brought each value of a block: their names
    are permuted within each block. One run alone is one draw; all its relabellings are as many as required.

    Parameters
    ----------
    logs : shape (k, n)
        Logarithms of the values, NaN where a trial is missing.
    relabellings
        How many, at least 1.
    """
    runs = rng.permuted(np.broadcast_to(logs, (relabellings, *logs.shape)), axis=1)
    return float(procedure(runs).any(axis=-1).mean())


def share_interval(share: float, count: int, *, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share of independent draws (Clopper and Pearson, 1934)."""
    seen, outside = round(share * count), (1 - level) / 2
    low = betaincinv(seen, count - seen + 1, outside) if seen else 0.0
    high = betaincinv(seen + 1, count - seen, 1 - outside) if seen < count else 1.0
    return float(low), float(high)


def pairs_found(
    rng: np.random.Generator,
    levels: FloatArray,
    counted: BoolArray,
    *,
    blocks: int,
    spread: float,
    runs: int,
    procedures: Sequence[Procedure] = (paired_t_holm, run_wide),
) -> list[float]:
    """Mean share of the counted pairs that each procedure calls different, with spreads of sigma 0.5."""
    logs = draw(rng, Scenario(len(levels), blocks, "sigma 0.5"), runs, levels, spread)
    return [float(procedure(logs)[:, counted].mean()) for procedure in procedures]


def differ_by(levels: FloatArray, ratio: float) -> BoolArray:
    """Which pairs differ by a ratio or more."""
    first, second = pairs_of(len(levels))
    return np.abs(levels[first] - levels[second]) >= np.log(ratio) - 1e-9


SPREADS: Final = ("equal", "sigma 0.5", "sigma 1", "one x10", "two x10")
ERRORS: Final = ("normal", "t3", "15 % missing", "half missing", "two kinds")
FIRST_LOOK: Final = 400
SECOND_LOOK: Final = 4000
LAST_LOOK: Final = 20_000
DOUBTFUL: Final = 0.04
"""A scenario with a larger share of false alarms at a first look is simulated again, with more runs."""


def scenarios() -> list[Scenario]:
    """Return all scenarios of the published table; those of many subjects are fewer, as they take long."""
    small = product((2, 3, 4, 5, 11), (3, 4, 5, 6, 9), SPREADS, ERRORS, GROUPS)
    large = product((25, 45), (3, 6), ("equal", "sigma 1", "two x10"), ("normal", "15 % missing"), list(GROUPS)[:2])
    every = [Scenario(*of) for of in (*small, *large)]
    # With few subjects some groups are the same.
    different = {(of.subjects, of.blocks, of.spreads, of.errors, *of.levels): of for of in reversed(every)}
    return [of for of in reversed(different.values()) if len(set(of.levels)) < of.subjects]


def look_twice(rng: np.random.Generator, scenario: Scenario) -> float:
    """Share of false alarms of the run-wide test; from more runs where it is doubtful."""
    alarms = false_alarms(rng, scenario, FIRST_LOOK)[1]
    return false_alarms(rng, scenario, SECOND_LOOK)[1] if alarms > DOUBTFUL else alarms


def false_alarm_rows(rng: np.random.Generator) -> list[str]:
    """Return a row for each kind of errors: scenarios, mean, and the largest of the worst six looked at anew."""
    rows = []
    for errors in ERRORS:
        shares = {of: look_twice(rng, of) for of in scenarios() if of.errors == errors}
        worst = sorted(shares, key=lambda of: -shares[of])[:6]
        again = max(false_alarms(rng, of, LAST_LOOK)[1] for of in worst)
        mean = float(np.mean(list(shares.values())))
        rows.append(f"| {errors} | {len(shares)} | {mean:.1%} | {again:.1%} |")
    return rows


def procedure_rows(rng: np.random.Generator) -> list[str]:
    """Return a row for each procedure: its largest share of false alarms with normal errors, and the pairs it finds."""
    procedures = {"run-wide": run_wide, "paired t, Holm": paired_t_holm, **REJECTED}
    alarms = dict.fromkeys(procedures, 0.0)
    for of in product((5, 11), (3, 6), SPREADS, ("normal",), ("all equal", "one pair", "one triple", "pairs")):
        able = [name for name in REJECTED if name != SIX_BLOCKS_ONLY or of[1] >= 6]
        by_holm, together, *others = false_alarms(rng, Scenario(*of), 2000, [REJECTED[name] for name in able])
        found = {"run-wide": together, "paired t, Holm": by_holm, **dict(zip(able, others, strict=True))}
        alarms |= {name: max(alarms[name], share) for name, share in found.items()}
    neighbours = np.arange(11) * np.log(1.05)
    first, second = pairs_of(11)
    tasks = (
        (np.log(RATES), differ_by(np.log(RATES), 1.05), 1.5 * SPREAD),
        (neighbours, second - first == 1, SPREAD),
        (np.log(CPU_MS), differ_by(np.log(CPU_MS), 1.15), 0.08 / 2**0.5),
    )
    rows = []
    for name, procedure in procedures.items():
        shares = [
            pairs_found(rng, levels, counted, blocks=blocks, spread=spread * longer, runs=400, procedures=[procedure])[
                0
            ]
            for levels, counted, spread in tasks
            for blocks, longer in ((3, 1.0), (6, 2**0.5))
            if name != SIX_BLOCKS_ONLY or blocks >= 6
        ]
        rows.append(f"| {name} | {alarms[name]:.1%} | {' | '.join(f'{share:.0%}' for share in shares)} |")
    return rows


if __name__ == "__main__":
    generator = np.random.default_rng(20261126)
    print(*procedure_rows(generator), *false_alarm_rows(generator), sep="\n")
