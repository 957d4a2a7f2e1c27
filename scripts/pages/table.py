"""Insertion of tables into pages."""

__all__ = ["with_table"]


def with_table(page: str, name: str, table: str) -> str:
    """Write a table into a page, between the pair of comments with its name.

    Raises
    ------
    ValueError
        If the page has no place for the table.
    """
    begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page needs one {begin} and one {end}")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{table}\n{end}{rest.partition(end)[2]}"
