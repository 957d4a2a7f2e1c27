"""What is measured and what is known about it: frozen, validated values without any I/O."""

from httpdyno.model.chart import Axis, Chart, ChartKind, Mark, Scale, Series
from httpdyno.model.comparison import Comparison, Difference, Ranking, Standing
from httpdyno.model.condition import LIVE, Condition, Link, TrialPlan, Workload
from httpdyno.model.counters import Count, Counters, CpuTime, MemoryPoint, ThroughputPoint, counters_from_report
from httpdyno.model.cpus import format_cpus, parse_cpus
from httpdyno.model.fact import Fact, Fitness
from httpdyno.model.interval import Interval
from httpdyno.model.metric import Direction, Metric
from httpdyno.model.record import RECORD_VERSION, Field, flatten, restore, schema
from httpdyno.model.report import Report
from httpdyno.model.sample import Sample
from httpdyno.model.subject import Capabilities, KnownFailure, Need, Subject, SubjectKind
from httpdyno.model.table import Cell, Column, ColumnKind, Note, Table
from httpdyno.model.tool_report import REPORT_PARSERS, ToolLatency, ToolReport
from httpdyno.model.trial import CrawlSummary, ExplainedCase, Tally, Trial
from httpdyno.model.units import format_exact, format_size, format_span, parse_duration_ns, parse_size_bytes
from httpdyno.model.verdict import Outcome, Validity, Verdict

__all__ = [
    "LIVE",
    "RECORD_VERSION",
    "REPORT_PARSERS",
    "Axis",
    "Capabilities",
    "Cell",
    "Chart",
    "ChartKind",
    "Column",
    "ColumnKind",
    "Comparison",
    "Condition",
    "Count",
    "Counters",
    "CpuTime",
    "CrawlSummary",
    "Difference",
    "Direction",
    "ExplainedCase",
    "Fact",
    "Field",
    "Fitness",
    "Interval",
    "KnownFailure",
    "Link",
    "Mark",
    "MemoryPoint",
    "Metric",
    "Need",
    "Note",
    "Outcome",
    "Ranking",
    "Report",
    "Sample",
    "Scale",
    "Series",
    "Standing",
    "Subject",
    "SubjectKind",
    "Table",
    "Tally",
    "ThroughputPoint",
    "ToolLatency",
    "ToolReport",
    "Trial",
    "TrialPlan",
    "Validity",
    "Verdict",
    "Workload",
    "counters_from_report",
    "flatten",
    "format_cpus",
    "format_exact",
    "format_size",
    "format_span",
    "parse_cpus",
    "parse_duration_ns",
    "parse_size_bytes",
    "restore",
    "schema",
]
