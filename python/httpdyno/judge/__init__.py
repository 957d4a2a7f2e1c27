"""Judgement of trials: a verdict for every sample, an outcome and a validity for every trial."""

from httpdyno.judge.comparison import compare_runs, find_metric
from httpdyno.judge.limit import Ceiling, ceiling_notes, ceiling_of
from httpdyno.judge.lines import Lines, read_lines
from httpdyno.judge.notes import trial_notes
from httpdyno.judge.outcome import ending_from_report
from httpdyno.judge.rankable import (
    counting_trials,
    placing_trials,
    rankable,
    rankable_trials,
    verdict_of,
    worst_validity,
)
from httpdyno.judge.ranking import rank, rank_conditions
from httpdyno.judge.reference import (
    Expectations,
    Reference,
    clock_bound_ns,
    expectations_unknown,
    read_arrivals,
    read_expectations,
)
from httpdyno.judge.table import Word, answers_right, marked_ranks, pass_table, passes_all, rank_note, trial_table
from httpdyno.judge.trial import Circumstances, Judge, JudgedTrial, TrialArtifacts, judge_crawl, trial_not_run
from httpdyno.judge.validity import with_validity
