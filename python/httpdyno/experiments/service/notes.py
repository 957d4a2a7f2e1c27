"""What has to be said under the table of the service question: of single servers, and of what all figures rest on."""

from collections.abc import Sequence

from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.judge import trial_notes
from httpdyno.model import Loop, Note, Trial, format_time, records_of

__all__ = ["of_figures", "of_servers"]


def of_servers(trials: Sequence[Trial]) -> list[Note]:
    """Describe of each server once what has to be said of its trials, at whatever point they were made."""
    subjects = dict.fromkeys(trial.subject for trial in trials)
    return [
        Note(f"{subject}: {text}")
        for subject in subjects
        for own in [[trial for trial in trials if trial.subject == subject]]
        for text in (*trial_notes(own), *_failed(own), *_too_early(own))
    ]


def _failed(trials: Sequence[Trial]) -> list[str]:
    """Describe what requests of one server failed with, of the trial in which most did."""
    failing = [trial for trial in trials if (summary := trial.get(ServiceSummary)) and summary.failures]
    if not failing:
        return []
    worst = max(failing, key=lambda trial: trial[ServiceSummary].errors)
    rest = f", the most of {len(failing)} trials with failures" if len(failing) > 1 else ""
    return [f"requests failed with {worst.condition}: {worst[ServiceSummary].failures}{rest}"]


def _too_early(trials: Sequence[Trial]) -> list[str]:
    """Describe how many answers of one server came before its waits were over, which no server that waits can do."""
    known = [summary for summary in records_of(ServiceSummary, trials) if summary.early_by_ns]
    if not known:
        return []
    most = format_time(max(one.early_by_ns or 0.0 for one in known))
    counted = [one for one in known if one.early]
    early, answers = sum(one.early or 0 for one in counted), sum(one.answers for one in counted)
    whose = f"{early:,} of {answers:,} answers" if counted else "answers"
    return [
        f"{whose} came before the longest wait was over, by up to {most}; that counts like an answer as much after it"
    ]


def of_figures(trials: Sequence[Trial]) -> list[Note]:
    """Describe of the whole table what its figures rest on."""
    points = records_of(ServicePoint, trials)
    if not points:
        return []
    told = []
    ideals = sorted({point.ideal_ns for point in points if point.ideal_ns})
    if ideals:
        waits = " and ".join(f"{ideal / 1e9:g} s" for ideal in ideals)
        told.append(f"overhead: what a response time is beyond the longest wait of a request, {waits}, or before it")
    if any(summary.at_least for summary in records_of(ServiceSummary, trials)):
        told.append(
            "where p99 is beyond the ideal by far, it may be more: requests were still open at the end (at_least)"
        )
    if any(point.loop is Loop.OPEN for point in points):
        told.append("open loop: response times count from when a request was due")
    if any(
        trial.get(ServiceSummary)
        and trial[ServiceSummary].overhead_p99_ns is None
        and trial[ServiceSummary].claimed_answers
        for trial in trials
    ):
        told.append(
            "no server is ranked: rewrk prints no percentiles, only the mean of the slowest 5 %, by which rows stand. "
            "That is of its whole run, with the moment at which all connections begin, and of what was answered: a "
            "request that is still open at the end is in no figure of it"
        )
    return [Note(text) for text in told]
