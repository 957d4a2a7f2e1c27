"""What is measured and what is known about it: frozen, validated values without any I/O."""

from httpdyno.model.ceiling import CEILING_TRIAL, CeilingLimit, Purpose
from httpdyno.model.chart import Axis, Chart, ChartKind, Mark, Scale, Series, Tile, Tone
from httpdyno.model.comparison import OPEN_MARK, PROVISIONAL_MARK, Comparison, Difference, Ranking, Standing
from httpdyno.model.condition import LIVE, MOST_URLS, Condition, TrialPlan, UrlSeries, Workload
from httpdyno.model.counters import (
    Count,
    Counters,
    CpuTime,
    MemoryPoint,
    ProgramUse,
    ThroughputPoint,
    counters_from_report,
)
from httpdyno.model.cpus import format_cpus, parse_cpus
from httpdyno.model.fact import Fact, Fitness
from httpdyno.model.figures import Figure, FigureRecord, figure_fields, figures_of
from httpdyno.model.interval import Interval
from httpdyno.model.link import Link, LinkPath
from httpdyno.model.link_counters import LinkCounters, PathCounters
from httpdyno.model.link_presets import LINK_PRESETS
from httpdyno.model.metric import Aspect, Direction, Metric
from httpdyno.model.record import RECORD_VERSION, Field, flatten, restore, schema
from httpdyno.model.report import Report
from httpdyno.model.sample import Sample
from httpdyno.model.subject import (
    INSTALL_WITH,
    Capabilities,
    KnownFailure,
    Loop,
    Need,
    Subject,
    SubjectKind,
    parse_loop,
)
from httpdyno.model.table import FORMER_NAMES, Cell, Column, ColumnKind, Note, Table, current_name
from httpdyno.model.tool_report import REPORT_PARSERS, WITHOUT_P99, ToolLatency, ToolReport
from httpdyno.model.trial import ExplainedCase, LinesSummary, Tally, Trial, records_of
from httpdyno.model.units import (
    counted,
    format_exact,
    format_rate,
    format_size,
    format_span,
    format_time,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)
from httpdyno.model.verdict import Outcome, Validity, Verdict

__all__ = [
    "CEILING_TRIAL",
    "FORMER_NAMES",
    "INSTALL_WITH",
    "LINK_PRESETS",
    "LIVE",
    "MOST_URLS",
    "OPEN_MARK",
    "PROVISIONAL_MARK",
    "RECORD_VERSION",
    "REPORT_PARSERS",
    "WITHOUT_P99",
    "Aspect",
    "Axis",
    "Capabilities",
    "CeilingLimit",
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
    "Difference",
    "Direction",
    "ExplainedCase",
    "Fact",
    "Field",
    "Figure",
    "FigureRecord",
    "Fitness",
    "Interval",
    "KnownFailure",
    "LinesSummary",
    "Link",
    "LinkCounters",
    "LinkPath",
    "Loop",
    "Mark",
    "MemoryPoint",
    "Metric",
    "Need",
    "Note",
    "Outcome",
    "PathCounters",
    "ProgramUse",
    "Purpose",
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
    "Tile",
    "Tone",
    "ToolLatency",
    "ToolReport",
    "Trial",
    "TrialPlan",
    "UrlSeries",
    "Validity",
    "Verdict",
    "Workload",
    "counted",
    "counters_from_report",
    "current_name",
    "figure_fields",
    "figures_of",
    "flatten",
    "format_cpus",
    "format_exact",
    "format_rate",
    "format_size",
    "format_span",
    "format_time",
    "parse_cpus",
    "parse_duration_ns",
    "parse_loop",
    "parse_rate_bits_per_s",
    "parse_size_bytes",
    "records_of",
    "restore",
    "schema",
]
