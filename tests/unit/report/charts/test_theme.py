"""The colours can be told apart: by everybody, on either background, and one from another."""

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from httpdyno.model import Tone
from httpdyno.report.charts.theme import DARK, LIGHT, VARIABLES, Theme, style

Array = npt.NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009): what is left of linear RGB when one kind of cone is missing.
SIGHTS = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson (2020): OKLab, in which equal distances look equally large.
LMS = np.array(
    [[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696], [0.08830246, 0.28171884, 0.6299787]]
)
LAB = np.array(
    [[0.21045426, 0.79361779, -0.00407205], [1.9779985, -2.42859221, 0.45059371], [0.02590404, 0.78277177, -0.80867577]]
)


def linear(colour: str) -> Array:
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def seen(colour: str, sight: Array) -> Array:
    return LAB @ np.cbrt(LMS @ np.clip(sight @ linear(colour), 0, 1))


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""
    dark, light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
@pytest.mark.parametrize(("many", "least"), [(4, 0.12), (8, 0.08), (12, 0.055)])
def test_subjects_are_told_apart(theme: Theme, sight: Array, many: int, least: float) -> None:
    colours = [seen(colour, sight) for colour in theme.series[:many]]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(colours, 2)) >= least


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_stands_out_from_what_it_stands_on(theme: Theme) -> None:
    assert all(contrast(colour, theme.surface) >= 2.99 for colour in theme.series)
    assert contrast(theme.ink, theme.surface) >= 7
    assert contrast(theme.quiet, theme.surface) >= 4.5
    assert all(contrast(theme.on_fill, colour) >= 4.5 for colour in theme.outcomes.values())


def test_a_name_has_its_place_s_colour_its_meaning_s_or_that_of_a_label() -> None:
    assert LIGHT.colours(["b", "right", "unknown"], ["a", "b"]) == [
        LIGHT.series[1],
        LIGHT.outcomes["right"],
        LIGHT.quiet,
    ]


def test_more_subjects_than_colours_share_none_of_them() -> None:
    names = [str(number) for number in range(15)]
    colours = LIGHT.colours(names, names)
    assert len(set(colours[:12])) == 12
    assert set(colours[12:]) == {LIGHT.quiet}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_variable_is_given_a_colour(theme: Theme) -> None:
    variables = [VARIABLES.surface, VARIABLES.on_fill, *VARIABLES.series, *VARIABLES.outcomes.values(), *VARIABLES.ramp]
    variables += [*VARIABLES.tones.values(), *VARIABLES.on_tones.values()]
    declared = style(theme)
    for variable in variables:
        assert f"{variable.removeprefix('var(').removesuffix(')')}:#" in declared


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
def test_steps_of_a_scale_and_points_of_a_grid_are_told_apart(theme: Theme, sight: Array) -> None:
    steps = [seen(colour, sight) for colour in theme.ramp]
    assert min(float(np.linalg.norm(one - other)) for one, other in pairwise(steps)) >= 0.055
    tones = [seen(colour, sight) for colour in theme.tones.values()]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(tones, 2)) >= 0.05


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_scale_and_what_is_held_are_seen_without_any_colour(theme: Theme) -> None:
    lightness = [float(seen(colour, SIGHTS["all cones"])[0]) for colour in theme.ramp]
    assert lightness in (sorted(lightness), sorted(lightness, reverse=True))
    held, *others = (float(seen(colour, SIGHTS["all cones"])[0]) for colour in theme.tones.values())
    assert min(abs(held - other) for other in others) >= 0.15
    assert all(contrast(colour, theme.surface) >= 2.99 for colour in theme.ramp)
    assert all(contrast(theme.on_tones[tone], theme.tones[tone]) >= 4.5 for tone in Tone)


@pytest.mark.parametrize(("count", "places"), [(0, []), (1, [0]), (2, [0, 5]), (3, [0, 2, 5]), (6, [0, 1, 2, 3, 4, 5])])
def test_values_in_their_order_are_spread_over_the_scale(count: int, places: list[int]) -> None:
    assert LIGHT.stepped(count) == [LIGHT.ramp[place] for place in places]
