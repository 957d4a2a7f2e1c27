"""Published figures with their sources, for comparison with measured ones."""

from httpdyno.published.comparison import in_published_form, side_by_side, stacked
from httpdyno.published.table import (
    Circumstances,
    PublishedTable,
    find_preset,
    parse_scale,
    published_listing,
    published_names,
    published_table,
)
