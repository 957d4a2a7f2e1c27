"""Figures that others have published, as data with their source, to stand beside measured ones."""

from httpdyno.published.comparison import beside, in_published_form, stacked
from httpdyno.published.table import (
    Circumstances,
    PublishedTable,
    find_preset,
    parse_scale,
    preset_names,
    published_listing,
    published_names,
    published_table,
    published_tables,
)
