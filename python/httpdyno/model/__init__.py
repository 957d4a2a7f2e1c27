"""The values that are measured and planned: frozen, validated, without any I/O."""

from httpdyno.model.comparison import (
    OPEN_MARK,
    PROVISIONAL_MARK,
    Aspect,
    Comparison,
    Difference,
    Direction,
    Interval,
    Metric,
    Ranking,
    Standing,
)
from httpdyno.model.condition import (
    CEILING_TRIAL,
    LIVE,
    MOST_URLS,
    CeilingLimit,
    Condition,
    Purpose,
    TrialPlan,
    UrlSeries,
    Workload,
)
from httpdyno.model.counters import (
    Count,
    Counters,
    CpuTime,
    LinkCounters,
    MemoryPoint,
    PathCounters,
    ProgramUse,
    ThroughputPoint,
    counters_from_report,
)
from httpdyno.model.link import LINK_PRESETS, Link, LinkPath
from httpdyno.model.record import (
    RECORD_VERSION,
    Field,
    Figure,
    FigureRecord,
    figure_fields,
    figures_of,
    flatten,
    restore,
    schema,
)
from httpdyno.model.report import (
    FORMER_NAMES,
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Fact,
    Fitness,
    Mark,
    Note,
    Report,
    Scale,
    Series,
    Table,
    Tile,
    Tone,
    current_name,
)
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
from httpdyno.model.tool_report import REPORT_PARSERS, WITHOUT_P99, ToolLatency, ToolReport
from httpdyno.model.trial import (
    ExplainedCase,
    LinesSummary,
    Outcome,
    Sample,
    Tally,
    Trial,
    Validity,
    Verdict,
    records_of,
)
from httpdyno.model.units import (
    counted,
    format_cpus,
    format_exact,
    format_rate,
    format_size,
    format_span,
    format_time,
    parse_cpus,
    parse_duration_ns,
    parse_rate_bits_per_s,
    parse_size_bytes,
)
