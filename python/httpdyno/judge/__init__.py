"""What was measured, judged: a verdict for every sample, an outcome and a validity for every trial."""

from httpdyno.judge.belief import believed, believed_trials
from httpdyno.judge.comparison import compare_runs
from httpdyno.judge.crawl import summarise_crawl
from httpdyno.judge.expectations import Expectations, expectations_unknown, read_expectations
from httpdyno.judge.lines import Lines, read_lines
from httpdyno.judge.metrics import CRAWL_METRICS, find_metric
from httpdyno.judge.notes import trial_notes
from httpdyno.judge.outcome import Ending, ending_from_report, outcome_of
from httpdyno.judge.ranking import rank
from httpdyno.judge.reference import Reference, read_arrivals
from httpdyno.judge.table import trial_table
from httpdyno.judge.trial import JudgedTrial, Remains, judge_crawl, trial_not_run
from httpdyno.judge.validity import Finding, Rule, findings, judge_validity
from httpdyno.judge.verdict import Judged, judge_samples, latest_allowed_ns

__all__ = [
    "CRAWL_METRICS",
    "Ending",
    "Expectations",
    "Finding",
    "Judged",
    "JudgedTrial",
    "Lines",
    "Reference",
    "Remains",
    "Rule",
    "believed",
    "believed_trials",
    "compare_runs",
    "ending_from_report",
    "expectations_unknown",
    "find_metric",
    "findings",
    "judge_crawl",
    "judge_samples",
    "judge_validity",
    "latest_allowed_ns",
    "outcome_of",
    "rank",
    "read_arrivals",
    "read_expectations",
    "read_lines",
    "summarise_crawl",
    "trial_not_run",
    "trial_notes",
    "trial_table",
]
