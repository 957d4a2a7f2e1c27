"""Summaries of scripted cases: counts by group, the worst first, and cells that got worse than expected."""

import json
from collections.abc import Iterator, Mapping, Sequence

from httpdyno.errors import InvalidValue
from httpdyno.judge.scripted.case_file import GROUPS
from httpdyno.model import WORST_FIRST, CaseOutcome, CaseResult

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
                if outcome is not CaseOutcome.PASS and (count := sum(one.outcome is outcome for one in own))
            ]
            parts.append(f"{group} {passed}/{len(own)}" + (f" ({', '.join(others)})" if others else ""))
    return ", ".join(parts)


def not_passed(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the results that are not ``pass``, the worst first."""
    found = [result for result in results if result.outcome is not CaseOutcome.PASS]
    return sorted(found, key=lambda result: (WORST_FIRST.index(result.outcome), result.case))


def describe_result(result: CaseResult) -> str:
    """Describe a result in one line: the case, what the clause requires, what the client did."""
    seen = "; ".join(breach.seen for breach in result.breaches)
    required = next((breach.change for breach in reversed(result.breaches) if breach.change), result.title)
    return f"{result.case}: {required} ({result.clause}); seen: {seen}"


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


def renew_expected(expected: Expected, client: str, results: Sequence[CaseResult]) -> dict[str, dict[str, str]]:
    """Return the expected outcomes with the new ones of a client; cases that were not tried keep theirs."""
    cells = dict(expected.get(client, {})) | {result.case: str(result.outcome) for result in results}
    return {name: dict(own) for name, own in {**expected, client: dict(sorted(cells.items()))}.items()}
