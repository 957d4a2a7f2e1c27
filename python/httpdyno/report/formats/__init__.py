"""The formats of reports: a module here is a format, and has ``render(table, surface) -> str``."""
