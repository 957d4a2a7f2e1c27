"""The published tables of an experiment, and its presets."""

from httpdyno.published import PublishedTable, published_names, published_table


def published_tables(experiment: str) -> tuple[PublishedTable, ...]:
    """Return the published tables of one experiment, in the order of their names."""
    tables = map(published_table, published_names())
    return tuple(table for table in tables if table.experiment == experiment)


def preset_names(experiment: str) -> tuple[str, ...]:
    """Return the presets of one experiment, in alphabetical order."""
    return tuple(sorted(table.preset for table in published_tables(experiment) if table.preset))
