"""Finds, builds and probes subjects: the folders with a ``subject.toml``."""
