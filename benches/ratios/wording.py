"""Results in words: tables for the terminal, and for the page of docs."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pages.table import with_table
from ratios.case import Case
from ratios.figures import Column, Finding, Spread, spread
from ratios.results import Result

__all__ = ["plain", "with_results"]

_HEAD: Final = ["case", "what", "median [lowest - highest]", "target", "", "measured"]
_MET: Final = {True: "met", False: "**missed**", None: ""}


def with_results(page: str, results: Iterable[Result], cases: Iterable[Case]) -> str:
    """Renew the generated parts of a page: the targets with the measured figures, and each case.

    Parameters
    ----------
    page : str
        The page before.
    results : iterable of Result
        Measurements on this machine.
    cases : iterable of Case
        All there are, in their order. What the page says of one without a result stays: another machine measured it.

    Raises
    ------
    ValueError
        If the page has no place for one of them.
    """
    measured = {result.case.title: result for result in results}
    promises, sections = _markdown([_HEAD]), []
    for case in cases:
        result = measured.get(case.title)
        promises += _markdown(_promised(result))[2:] if result else _promises_on(page, case.title)
        sections.append("\n".join(_section(result)) if result else _section_on(page, case.title))
    page = with_table(page, "promises", "\n".join(promises) + "\n")
    return with_table(page, "cases", "\n".join(filter(None, sections)))


def _promises_on(page: str, title: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(f"| [{title}](")]


def _section_on(page: str, title: str) -> str:
    _, heading, rest = page.partition(f"### {title}\n")
    end = re.search(r"^(?:### |<!-- )", rest, re.MULTILINE)
    return heading + rest[: end.start() if end else None].rstrip("\n") + "\n" if heading else ""


def plain(result: Result) -> str:
    """Give one case for the terminal."""
    lines = [f"{result.case.title} ({result.case.name})"]
    lines += _aligned(_figures(result))
    lines += [""] if result.findings else []
    lines += _aligned([[*row[:-1], row[-1].strip("*")] for row in _ratios(result)])
    lines += [f"  note: {note}" for note in _notes(result)]
    return "\n".join(lines) + "\n"


def _promised(result: Result) -> list[list[str]]:
    """Give a row for each figure that has a target, under a head."""
    case = f"[{result.case.title}]({_anchor(result.case.title)})"
    return [_HEAD, *([case, *row, result.at[:10]] for row in _ratios(result, judged_only=True)[1:])]


def _anchor(title: str) -> str:
    """Give the place of a heading in its page, as GitHub names it."""
    return "#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _section(result: Result) -> list[str]:
    lines = [f"### {result.case.title}", "", result.case.setting, ""]
    lines += _markdown(_figures(result))
    if result.findings:
        lines += ["", *_markdown(_ratios(result))]
    versions = ", ".join(_program(name, version) for name, version in result.versions.items() if version)
    measured = f"{len(result.rounds)} rounds, {result.at}, {result.machine}"
    lines += ["", f"{measured}{f'; {versions}' if versions else ''}."]
    lines += [f"\n{note}." for note in _notes(result)]
    return [*lines, ""]


def _program(name: str, version: str) -> str:
    """Name a program with its version; many say their name themselves."""
    return version if name.casefold() in version.casefold() else f"{name} {version}"


def _notes(result: Result) -> list[str]:
    return [*result.notes, *([result.disturbance] if result.disturbance else [])]


def _figures(result: Result) -> list[list[str]]:
    names = list(dict.fromkeys(name for measured in result.rounds for name in measured))
    columns = [column for column in result.case.columns if any(_values(result, name, column) for name in names)]
    rows = [["", *(column.title for column in columns)]]
    for name in names:
        rows.append([name, *(_spread(spread(_values(result, name, column)), column.digits) for column in columns)])
    return rows


def _values(result: Result, name: str, column: Column) -> list[float]:
    return [
        figures[column.name]
        for measured in result.rounds
        if (figures := measured.get(name, {})) and column.name in figures
    ]


def _ratios(result: Result, *, judged_only: bool = False) -> list[list[str]]:
    titles = {column.name: column for column in result.case.columns}
    rows = [["what", "median [lowest - highest]", "target", ""]]
    for finding in result.findings:
        if judged_only and not _bound(finding):
            continue
        column = titles[finding.target.figure]
        digits = column.digits if finding.target.to is None else 2
        rows.append([_what(finding, column), _spread(finding.spread, digits), _bound(finding), _MET[finding.met]])
    return rows


def _what(finding: Finding, column: Column) -> str:
    target = finding.target
    if target.to is None:
        return f"{target.of}: {column.title}"
    above, below = (target.to, target.of) if target.inverse else (target.of, target.to)
    return f"{above} / {below}: {column.title}"


def _bound(finding: Finding) -> str:
    target = finding.target
    bounds = [] if target.at_least is None else [f">= {target.at_least:g}"]
    bounds += [] if target.at_most is None else [f"<= {target.at_most:g}"]
    return " ".join(bounds) + (" in every round" if target.every_round else "")


def _spread(found: Spread | None, digits: int) -> str:
    if found is None:
        return "not measured"
    return f"{found.median:,.{digits}f} [{found.low:,.{digits}f} - {found.high:,.{digits}f}]"


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"| {' | '.join('---' for _ in rows[0])} |", *lines[1:]]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in rows
    ]
