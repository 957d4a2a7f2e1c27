"""The values that are measured and planned: frozen, validated, without any I/O.

A module is imported when one of its names is first used: making all dataclasses takes more CPU time than everything
else that the help of a verb does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from httpdyno.model.cases import Breach, CaseOutcome, CaseResult, Cases, Level
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
        REPORT_PARSERS,
        WITHOUT_P99,
        Capabilities,
        KnownFailure,
        Loop,
        Need,
        Subject,
        SubjectKind,
        ToolLatency,
        ToolReport,
        parse_loop,
    )
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

_MODULES: Final = (
    "units",
    "record",
    "link",
    "counters",
    "subject",
    "condition",
    "trial",
    "report",
    "comparison",
    "cases",
)
"""Where the names are, each module after those that it imports."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the modules up to the first that has the name."""
    if not name.startswith("_"):
        for module in _MODULES:
            found = vars(import_module(f"{__name__}.{module}"))
            if name in found:
                return globals().setdefault(name, found[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
