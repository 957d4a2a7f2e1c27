"""Makes the page of a report: template, style, script and charts in one text, with nothing left to load."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from httpdyno.model import Chart, Report
from httpdyno.report.cell import without_controls
from httpdyno.report.charts.canvas import Canvas
from httpdyno.report.charts.drawing import svg
from httpdyno.report.charts.theme import DARK, LIGHT, VARIABLES, style
from httpdyno.report.html.grid import grid

__all__ = ["page"]

_WIDE: Final = 760
_NARROW: Final = 350
_FONT: Final = re.compile(r' font-family="[^"]*"')
_BOUND: Final = re.compile(
    r" (?=%)|(?<=\d) (?=to \d)|(?<=\d to) (?=\d)|(?<=\d) (?=(?:[KMG]iB|B|m?s|[kMG]?bit/s)\b)|(?<=rtt) (?=\d)"
)
"""Blanks at which no line is broken: ``95 %``, ``1.08 to 1.16``, ``300 KiB``."""


_PARTS: Final = re.compile(r"[;.] ")


@dataclass(frozen=True, slots=True)
class _Figure:
    """A chart that is drawn, for a page and for a phone."""

    chart: Chart
    wide: Markup
    narrow: Markup


@dataclass(frozen=True, slots=True)
class _Section:
    """Charts under one heading."""

    title: str
    figures: tuple[_Figure, ...]


def page(report: Report) -> str:
    """Write a report as one HTML file.

    It loads nothing: style, script and drawings are in it, and its policy forbids everything else. What it quotes of
    subjects is text, whatever it looks like.
    """
    script = _text("page.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finalize, trim_blocks=True, lstrip_blocks=True
    )
    places = {word: place for place, pair in enumerate(report.subjects) for word in pair}
    answer, more = _answer(report)
    return environment.from_string(_text("page.html.jinja")).render(
        report=report,
        answer=_BOUND.sub("\u00a0", answer),
        more=_BOUND.sub("\u00a0", more),
        # The style and the script are ours, and end no element early; a digest admits this script and no other.
        style=Markup(_style(len(report.subjects))),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        sections=tuple(_sections(report)),
        evidence=[grid(f"evidence-{nth}", table, places) for nth, table in enumerate(report.evidence)],
        tables={
            "figures": grid("figures", report.table, places),
            "pairs": grid("pairs", report.comparisons, places),
            "errors": grid("errors", report.errors, places),
            "rules": grid("rules", report.rules, places),
            "trials": grid("trials", report.validity, places),
            "published": grid("published", report.published, places) if report.published else None,
        },
    )


def _answer(report: Report) -> tuple[str, str]:
    """Divide the headline into what stands in large letters, who is first and by how much, and all else."""
    answer, _, more = report.headline.partition("\n")
    if not more:
        answer, _, more = _PARTS.sub("\n", report.headline, count=1).partition("\n")
    named = any(more.startswith(name) for _, name in report.subjects)
    return answer, more if named else more[:1].upper() + more[1:]


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style(subjects: int) -> str:
    """Put the colours of both schemes before the rules, and a rule for each subject that can be singled out."""
    light, dark = style(LIGHT), style(DARK)
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return schemes + _text("page.css") + "".join(_singled_out(place) for place in range(subjects))


def _singled_out(place: int) -> str:
    """Fade everything that has the colour of another subject, while the page is told to single this one out."""
    root = f':root[data-only="{place}"]'
    rules = [f'{root} tr[data-subject]:not([data-subject="{place}"])']
    if place < len(VARIABLES.series):
        own = VARIABLES.series[place]
        rules += [
            f'{root} .drawing [{paint}^="var(--series-"]:not([{paint}="{own}"],[opacity="0"])'
            for paint in ("stroke", "fill")
        ]
    return f"{','.join(rules)}{{opacity:.13}}\n"


def _sections(report: Report) -> Iterator[_Section]:
    for title in dict.fromkeys(chart.section for chart in report.charts):
        charts = [chart for chart in report.charts if chart.section == title]
        yield _Section(title, tuple(_Figure(chart, _drawn(chart, _WIDE), _drawn(chart, _NARROW)) for chart in charts))


def _drawn(chart: Chart, width: int) -> Markup:
    # Vega escapes what it writes. The page has its own fonts.
    return Markup(_FONT.sub("", svg(chart, Canvas(width, VARIABLES))))
