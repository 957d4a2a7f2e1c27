"""What is measured and what is known about it: frozen, validated values without any I/O."""

from httpdyno.model.capacity import CapacityPoint, CapacitySummary
from httpdyno.model.ceiling import CEILING_TRIAL, CeilingLimit, Purpose
from httpdyno.model.chart import Axis, Chart, ChartKind, Mark, Scale, Series, Tile, Tone
from httpdyno.model.comparison import Comparison, Difference, Ranking, Standing
from httpdyno.model.condition import LIVE, Condition, TrialPlan, UrlSeries, Workload
from httpdyno.model.cost import DOCUMENT_BYTES, Coding, CostPoint, CostStep, CostSummary, RequestClock
from httpdyno.model.counters import Count, Counters, CpuTime, MemoryPoint, ThroughputPoint, counters_from_report
from httpdyno.model.cpus import format_cpus, parse_cpus
from httpdyno.model.fact import Fact, Fitness
from httpdyno.model.frontier import Frontier, FrontierAxis, FrontierPoint
from httpdyno.model.interval import Interval
from httpdyno.model.latency import Content, LatencyPoint, LatencyRun, LatencySummary
from httpdyno.model.link import Link, LinkPath
from httpdyno.model.link_counters import LinkCounters, PathCounters
from httpdyno.model.link_presets import LINK_PRESETS
from httpdyno.model.load import LoadChecks, LoadSecond, LoadSummary, LoadTimes
from httpdyno.model.metric import Direction, Metric
from httpdyno.model.record import RECORD_VERSION, Field, flatten, restore, schema
from httpdyno.model.report import Report
from httpdyno.model.sample import Sample
from httpdyno.model.service import DEFAULT_WORKLOADS_MS, HELD_WITHIN, Endpoint, ServicePoint, ServiceSummary
from httpdyno.model.subject import Capabilities, KnownFailure, Loop, Need, Subject, SubjectKind, parse_loop
from httpdyno.model.table import Cell, Column, ColumnKind, Note, Table
from httpdyno.model.tool_report import REPORT_PARSERS, ToolLatency, ToolReport
from httpdyno.model.trial import CrawlSummary, ExplainedCase, Tally, Trial
from httpdyno.model.units import (
    counted,
    format_exact,
    format_rate,
    format_size,
    format_span,
    format_time,
    optional_size_bytes,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)
from httpdyno.model.verdict import Outcome, Validity, Verdict

__all__ = [
    "CEILING_TRIAL",
    "DEFAULT_WORKLOADS_MS",
    "DOCUMENT_BYTES",
    "HELD_WITHIN",
    "LINK_PRESETS",
    "LIVE",
    "RECORD_VERSION",
    "REPORT_PARSERS",
    "Axis",
    "Capabilities",
    "CapacityPoint",
    "CapacitySummary",
    "CeilingLimit",
    "Cell",
    "Chart",
    "ChartKind",
    "Coding",
    "Column",
    "ColumnKind",
    "Comparison",
    "Condition",
    "Content",
    "CostPoint",
    "CostStep",
    "CostSummary",
    "Count",
    "Counters",
    "CpuTime",
    "CrawlSummary",
    "Difference",
    "Direction",
    "Endpoint",
    "ExplainedCase",
    "Fact",
    "Field",
    "Fitness",
    "Frontier",
    "FrontierAxis",
    "FrontierPoint",
    "Interval",
    "KnownFailure",
    "LatencyPoint",
    "LatencyRun",
    "LatencySummary",
    "Link",
    "LinkCounters",
    "LinkPath",
    "LoadChecks",
    "LoadSecond",
    "LoadSummary",
    "LoadTimes",
    "Loop",
    "Mark",
    "MemoryPoint",
    "Metric",
    "Need",
    "Note",
    "Outcome",
    "PathCounters",
    "Purpose",
    "Ranking",
    "Report",
    "RequestClock",
    "Sample",
    "Scale",
    "Series",
    "ServicePoint",
    "ServiceSummary",
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
    "flatten",
    "format_cpus",
    "format_exact",
    "format_rate",
    "format_size",
    "format_span",
    "format_time",
    "optional_size_bytes",
    "parse_cpus",
    "parse_duration_ns",
    "parse_loop",
    "parse_rate_bits_per_s",
    "parse_size_bytes",
    "restore",
    "schema",
]
