"""Figures that others have published, as typed data with their source, to stand beside measured ones."""

from httpdyno.published.catalogue import published_names, published_table, published_tables
from httpdyno.published.form import in_published_form
from httpdyno.published.listing import published_listing
from httpdyno.published.preset import Preset, find_preset, parse_scale, preset_names
from httpdyno.published.side_by_side import beside, stacked
from httpdyno.published.table import Circumstances, PublishedTable, Workload

__all__ = [
    "Circumstances",
    "Preset",
    "PublishedTable",
    "Workload",
    "beside",
    "find_preset",
    "in_published_form",
    "parse_scale",
    "preset_names",
    "published_listing",
    "published_names",
    "published_table",
    "published_tables",
    "stacked",
]
