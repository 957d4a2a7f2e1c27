"""Summaries of scripted cases: counts by group, the worst first, and cells that got worse than expected."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.judge.conformance import first_few
from httpdyno.judge.scripted.case_file import GROUPS
from httpdyno.model import WORST_FIRST, CaseOutcome, CaseResult, Subject, counted

_NO_CODE: Final = re.compile(r"[^A-Za-z0-9_.:-]")
_LONGEST_CODE: Final = 60
Expected = Mapping[str, Mapping[str, str]]
"""Outcomes of cases by client and by id."""


def summarise(results: Sequence[CaseResult]) -> str:
    """Return one line with the groups: ``deadlines 8/8, framing 31/34 (2 lenient, 1 unsafe)``."""
    parts = []
    for group in GROUPS:
        own = [result for result in results if result.group == group]
        if own:
            passed = sum(result.outcome is CaseOutcome.PASS for result in own)
            others = [
                f"{count} {outcome}"
                for outcome in WORST_FIRST
                if outcome is not CaseOutcome.PASS
                and (count := sum(one.outcome is outcome and one.known is None for one in own))
            ]
            if known := sum(one.known is not None for one in own):
                others.append(f"{known} known")
            parts.append(f"{group} {passed}/{len(own)}" + (f" ({', '.join(others)})" if others else ""))
    return ", ".join(parts)


def not_passed(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the results that are not ``pass``, the worst first, those with a known failure last."""
    found = [result for result in results if result.outcome is not CaseOutcome.PASS]
    return sorted(found, key=lambda one: (one.known is not None, WORST_FIRST.index(one.outcome), one.case))


def describe_result(result: CaseResult) -> str:
    """Describe a result in one line: the case, what the clause requires, what the client did."""
    seen = "; ".join(breach.seen for breach in result.breaches)
    required = next((breach.change for breach in reversed(result.breaches) if breach.change), result.title)
    known = f"; known failure: {result.known}" if result.known else ""
    return f"{result.case}: {required} ({result.clause}); seen: {seen}{known}"


def propose_known_failures(results: Sequence[CaseResult]) -> str:
    """Return the ``[[known_failure]]`` tables of ``subject.toml`` for failures that it lacks; empty if there are none.

    They are for a person to read, shorten and commit.
    """
    tables = []
    for result in not_passed(results):
        if not result.outcome.is_good and result.known is None and result.outcome is not CaseOutcome.UNSUPPORTED:
            code = _NO_CODE.sub("", result.code or "")[:_LONGEST_CODE]
            reported = f", reported as {code}" if code else ""
            reason = json.dumps(f"{result.title}: {result.outcome}{reported}", ensure_ascii=False)
            tables.append(f'[[known_failure]]\ncase = "{result.case}"\nreason = {reason}\n')
    return "".join(tables)


def passing_known_failures(subject: Subject, results: Sequence[CaseResult]) -> list[str]:
    """Return the cases that a subject names as known failures, and that it passes."""
    passed = {result.case for result in results if result.outcome is CaseOutcome.PASS}
    return [failure.case for failure in subject.known_failures if failure.case in passed]


def describe_unsupported(results: Sequence[CaseResult]) -> list[str]:
    """Describe the cases that are not tried, a line for each reason: ``not claimed: HTTP/2: http2/a, http2/b``."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        if result.outcome is CaseOutcome.UNSUPPORTED:
            by_reason.setdefault("; ".join(breach.seen for breach in result.breaches), []).append(result.case)
    return [f"{reason}: {', '.join(cases)}" for reason, cases in by_reason.items()]


def suspects_adapter(results: Sequence[CaseResult]) -> bool:
    """Return whether a client passes no case at all, so that its adapter may be broken."""
    tried = [result for result in results if result.outcome is not CaseOutcome.UNSUPPORTED]
    return len(tried) > 1 and not any(result.outcome.is_good for result in tried)


def read_expected(name: str, text: str) -> dict[str, dict[str, str]]:
    """Read expected outcomes; ``name`` is the file in messages.

    Raises
    ------
    InvalidValue
        If the text is not JSON of the form ``{"CLIENT": {"GROUP/NAME": "pass"}}``.
    """
    try:
        values = json.loads(text)
        known = {str(outcome) for outcome in WORST_FIRST}
        for client, cells in values.items():
            for case, outcome in cells.items():
                if outcome not in known:
                    raise ValueError(f"{client}, {case}: {outcome!r} is no outcome")
    except (ValueError, AttributeError) as error:
        form = '{"CLIENT": {"GROUP/NAME": "pass"}}'
        raise InvalidValue(f"{name}: {error}; the form is {form}, and --update writes it") from error
    return {client: dict(cells) for client, cells in values.items()}


def worse_cells(expected: Expected, client: str, results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield each cell that got worse than expected, in words; cases that are not in the file are skipped."""
    cells = expected.get(client, {})
    for result in results:
        before = cells.get(result.case)
        if before and WORST_FIRST.index(result.outcome) < WORST_FIRST.index(CaseOutcome(before)):
            yield f"{client}: {result.case}: {result.outcome}, expected {before}"


def compared_badly(
    cells: Mapping[str, str], client: str, results: Sequence[CaseResult], known: Collection[str]
) -> Iterator[str]:
    """Yield what a file of expected outcomes lacks for a client, and cases that this version does not have.

    ``cells`` are the file's outcomes of the client by case; ``known`` are the ids of all cases.

    Raises
    ------
    InvalidValue
        If no case of the results is in the file: nothing would be compared.
    """
    if not any(result.case in cells for result in results):
        raise InvalidValue(f"--expect: the file has no outcome of {client} for these cases; add them with --update")
    if new := [result.case for result in results if result.case not in cells]:
        yield f"{counted(len(new), 'case')} of {client} not in the file: {first_few(new, ', ')}"
    if gone := [case for case in cells if case not in known]:
        yield f"{counted(len(gone), 'case')} of {client} not in this version: {first_few(gone, ', ')}"


def renew_expected(
    expected: Expected, client: str, results: Sequence[CaseResult], known: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return the expected outcomes with the new ones of a client; cases that were not tried keep theirs.

    ``known`` are the ids of all cases: others are left out.
    """
    cells = {case: outcome for case, outcome in expected.get(client, {}).items() if case in known}
    cells |= {result.case: str(result.outcome) for result in results}
    return {name: dict(own) for name, own in {**expected, client: dict(sorted(cells.items()))}.items()}
