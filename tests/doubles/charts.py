"""Charts held against the schema of Vega-Lite, which Altair carries."""

import altair

from httpdyno.model import Chart
from httpdyno.report.charts import specification
from httpdyno.report.charts.canvas import Canvas


def require_valid(chart: Chart, canvas: Canvas) -> None:
    """Raise ``ValidationError`` if the specification of a chart breaks the schema."""
    altair.Root.validate(specification(chart, canvas))
