"""What a run says, as data: the headline, tables and charts of any experiment, from its metrics and its records."""

from httpdyno.experiments.report.choice import build_report

__all__ = ["build_report"]
