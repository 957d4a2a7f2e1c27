"""The table of the named links in the page about links."""

from httpdyno.model.link import LINK_PRESETS, Link
from pages.table import with_table

__all__ = ["with_link_presets"]


def with_link_presets(page: str) -> str:
    """Write the table of the named links, with the sources of their figures, into a page.

    Raises
    ------
    ValueError
        If the page has no place for the table.
    """
    lines = [
        f"| `{preset.name}` | {preset.about} | `{Link.parse(preset.name)}` | {preset.source} |"
        for preset in LINK_PRESETS
    ]
    return with_table(
        page,
        "presets",
        "\n".join(["| name | what it is like | the link | source |", "| --- | --- | --- | --- |", *lines]),
    )
