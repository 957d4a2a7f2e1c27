"""Labels and colours of charts."""

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.model import Axis, Tone
from httpdyno.report.cell import figure_text
from httpdyno.report.charts.canvas import DARK, LIGHT, VARIABLES, Theme, apart, distinct_short_forms, style, with_unit
from httpdyno.report.charts.rows import percent

POSITIONS = st.lists(st.floats(0, 300), max_size=20)


@given(POSITIONS)
def test_labels_are_apart_and_in_their_order(wanted: list[float]) -> None:
    placed = apart(wanted, 10, 0, 300)
    in_order = [placed[place] for place in sorted(range(len(wanted)), key=lambda place: (wanted[place], place))]
    assert all(after - before >= 10 - 1e-6 for before, after in pairwise(in_order))
    assert all(-1e-6 <= position <= 300 + 1e-6 for position in placed)


@given(POSITIONS)
def test_labels_that_are_apart_already_stay_where_they_are(wanted: list[float]) -> None:
    spread = [20.0 * place for place, _ in enumerate(wanted)][:15]
    assert apart(spread, 20, 0, 300) == spread


def test_labels_for_which_there_is_no_room_go_on_below() -> None:
    assert apart([0, 0, 0], 10, 0, 15) == [0, 10, 20]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["Go net/http", "Python aiohttp (a long one)"], {}),
        (
            ["Python aiohttp (python-aiohttp)", "Python aiohttp (python-aiohttp-mine)"],
            {
                "Python aiohttp (python-aiohttp)": "Python ai\u2026n-aiohttp)",
                "Python aiohttp (python-aiohttp-mine)": "Python ai\u2026http-mine)",
            },
        ),
        (
            ["Java a client of one (with 1 thread)", "Java a client of one (with 2 threads)"],
            {
                "Java a client of one (with 1 thread)": "Java a cl\u2026 1 thread)",
                "Java a client of one (with 2 threads)": "Java a cl\u20262 threads)",
            },
        ),
    ],
)
def test_names_are_not_cut_where_they_differ(names: list[str], shown: dict[str, str]) -> None:
    assert distinct_short_forms(names, 20) == shown


@given(st.lists(st.text("ab", max_size=12), max_size=8))
def test_what_is_shortened_fits_and_stays_apart(names: list[str]) -> None:
    short = distinct_short_forms(names, 6)
    assert all(len(text) <= 6 for text in short.values())
    distinct = set(names)
    assert len({short.get(name, name) for name in distinct}) == len(distinct)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0"), (0.012345, "0.0123"), (1.5, "1.5"), (99.44, "99.4"), (178.4, "178"), (12967, "12,967")],
)
def test_a_figure_has_three_digits_that_matter(value: float, written: str) -> None:
    assert figure_text(value) == written


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [(532, "ms", "532 ms"), (5003, "ms", "5 s"), (99.99, "%", "99.99 %"), (1.5, "", "1.5"), (71.8, "MiB", "71.8 MiB")],
)
def test_a_figure_has_its_unit(value: float, unit: str, written: str) -> None:
    assert with_unit(value, Axis("", unit)) == written


@pytest.mark.parametrize(
    ("portion", "written"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.79, "79 %"),
        (0.054, "5.4 %"),
        (0.0005, "0.05 %"),
        (0.00001, "0.001 %"),
        (0.997, "99.7 %"),
        (0.99999, "> 99.9 %"),
    ],
)
def test_a_share_is_not_written_as_all_or_nothing_unless_it_is(portion: float, written: str) -> None:
    assert percent(portion) == written


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
    """Contrast by WCAG."""
    dark, light = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS.values(), ids=SIGHTS)
@pytest.mark.parametrize(("many", "least"), [(4, 0.12), (8, 0.08), (12, 0.055)])
def test_colours_of_subjects_differ(theme: Theme, sight: Array, many: int, least: float) -> None:
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
def test_colours_of_steps_and_of_points_of_a_grid_differ(theme: Theme, sight: Array) -> None:
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
