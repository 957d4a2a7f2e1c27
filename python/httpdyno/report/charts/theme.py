"""The colours of charts and pages: told apart also by colour-blind readers, on paper and on a dark screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["DARK", "LIGHT", "VARIABLES", "Theme", "style"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they are for, as CSS writes them."""

    surface: str
    """What everything stands on."""
    ink: str
    """Text and what matters."""
    quiet: str
    """Labels, and what matters less."""
    line: str
    """Grids and rules."""
    others: str
    """Series that are shown for comparison only."""
    on_fill: str
    """Text on a bar."""
    series: tuple[str, ...]
    """One for each subject, in the order of the report; told apart also under each kind of colour blindness."""
    outcomes: Mapping[str, str]
    """By the name of a verdict or of a class of status codes."""
    ramp: tuple[str, ...]
    """Steps of one scale, for names that are values in their order: lighter and darker also without any colour."""
    tones: Mapping[str, str]
    """By what became of a point of a grid: what is held differs from all else also in black and white."""
    on_tones: Mapping[str, str]
    """Text on each of them."""

    def stepped(self, count: int) -> list[str]:
        """Return the colours of so many values in their order: as far apart on the scale as it allows."""
        last = len(self.ramp) - 1
        return [self.ramp[round(place * last / max(count - 1, 1))] for place in range(count)]

    def colours(self, names: Sequence[str], order: Sequence[str]) -> list[str]:
        """Return the colour of each name: that of its place in the order, else its meaning's, else that of a label."""
        places = dict(zip(order, self.series, strict=False))
        return [places.get(name) or self.outcomes.get(name, self.quiet) for name in names]


_OUTCOMES: Final = (
    ("right", "#8cbfb0", "#417c6f"),
    ("explained", "#d8c79a", "#7d7149"),
    ("wrong_status", "#eda96b", "#b4602a"),
    ("wrong_length", "#dd8a63", "#b8562a"),
    ("late", "#ecc878", "#947026"),
    ("false_error", "#d87c7c", "#b35252"),
    ("missed_error", "#c18ba6", "#93486a"),
    ("wrong_time", "#a794c6", "#7c5a94"),
    ("not_reached", "#b4b9c1", "#5d646e"),
    ("unverified", "#d3d7dc", "#474d56"),
    ("2xx", "#8cbfb0", "#417c6f"),
    ("3xx", "#a9cbdc", "#4c788d"),
    ("4xx", "#ecc878", "#947026"),
    ("5xx", "#dd8a63", "#b8562a"),
    ("exception", "#b1a7cf", "#75699a"),
)

_TONES: Final = (
    # fill and text, first on light, then on dark
    ("held", "#1f5fa8", "#ffffff", "#6db1f5", "#0d0f12"),
    ("doubtful", "#a9cbee", "#16181b", "#2c5784", "#ffffff"),
    ("near", "#fbe0b4", "#16181b", "#4a3a20", "#ffffff"),
    ("part", "#f7c183", "#16181b", "#7a5120", "#ffffff"),
    ("little", "#e08a4a", "#16181b", "#b05f17", "#ffffff"),
    ("unknown", "#e6e9ed", "#51575f", "#23272d", "#a9b0ba"),
)

LIGHT: Final = Theme(
    surface="#ffffff",
    ink="#1b1e23",
    quiet="#646b75",
    line="#e4e6ea",
    others="#c3c8cf",
    on_fill="#16181b",
    series=(
        "#3899ed",
        "#a65305",
        "#337d7c",
        "#72193a",
        "#bd8b21",
        "#521e97",
        "#744469",
        "#869873",
        "#2c3f55",
        "#a77347",
        "#398dac",
        "#880f15",
    ),
    outcomes={name: light for name, light, _ in _OUTCOMES},
    ramp=("#c58622", "#5c8a4e", "#157a78", "#27598c", "#45307e", "#2f0a38"),
    tones={name: fill for name, fill, _, _, _ in _TONES},
    on_tones={name: text for name, _, text, _, _ in _TONES},
)
DARK: Final = Theme(
    surface="#14161a",
    ink="#e8eaed",
    quiet="#9aa2ad",
    line="#2b2f36",
    others="#4a515b",
    on_fill="#ffffff",
    series=(
        "#3d7cd9",
        "#e98c3b",
        "#46dce1",
        "#9f5a64",
        "#eec535",
        "#a09bf4",
        "#b77fa7",
        "#b7cb95",
        "#6c768f",
        "#c7a18d",
        "#74b6cc",
        "#d96657",
    ),
    outcomes={name: dark for name, _, dark in _OUTCOMES},
    ramp=("#7c64c4", "#4f8ad6", "#31acb4", "#5fc977", "#bddc4a", "#fff3a0"),
    tones={name: fill for name, _, _, fill, _ in _TONES},
    on_tones={name: text for name, _, _, _, text in _TONES},
)
VARIABLES: Final = Theme(
    surface="var(--surface)",
    ink="var(--ink)",
    quiet="var(--quiet)",
    line="var(--line)",
    others="var(--others)",
    on_fill="var(--on-fill)",
    series=tuple(f"var(--series-{place})" for place in range(len(LIGHT.series))),
    outcomes={name: f"var(--outcome-{name})" for name, _, _ in _OUTCOMES},
    ramp=tuple(f"var(--ramp-{place})" for place in range(len(LIGHT.ramp))),
    tones={name: f"var(--tone-{name})" for name, *_ in _TONES},
    on_tones={name: f"var(--on-tone-{name})" for name, *_ in _TONES},
)
"""Names in place of colours: a page decides what they are, so that one drawing serves light, dark and paper."""


def style(theme: Theme) -> str:
    """Write the declarations that give the names of ``VARIABLES`` the colours of a theme."""
    pairs = [
        (VARIABLES.surface, theme.surface),
        (VARIABLES.ink, theme.ink),
        (VARIABLES.quiet, theme.quiet),
        (VARIABLES.line, theme.line),
        (VARIABLES.others, theme.others),
        (VARIABLES.on_fill, theme.on_fill),
        *zip(VARIABLES.series, theme.series, strict=True),
        *zip(VARIABLES.ramp, theme.ramp, strict=True),
        *((VARIABLES.outcomes[name], theme.outcomes[name]) for name in theme.outcomes),
        *((VARIABLES.tones[name], theme.tones[name]) for name in theme.tones),
        *((VARIABLES.on_tones[name], theme.on_tones[name]) for name in theme.on_tones),
    ]
    return "".join(f"{name.removeprefix('var(').removesuffix(')')}:{colour};" for name, colour in pairs)
