"""Runs on disk: written whole or marked partial, and read back."""

from httpdyno.store.columns import polars_schema
from httpdyno.store.find import RELATIVE_NAMES, find_run, run_folders
from httpdyno.store.manifest import GitState, Machine, Manifest, SubjectVersion, WebIdentity
from httpdyno.store.reader import Run, open_run
from httpdyno.store.surroundings import describe_git, describe_machine, lockfile_digests
from httpdyno.store.writer import RunWriter

__all__ = [
    "RELATIVE_NAMES",
    "GitState",
    "Machine",
    "Manifest",
    "Run",
    "RunWriter",
    "SubjectVersion",
    "WebIdentity",
    "describe_git",
    "describe_machine",
    "find_run",
    "lockfile_digests",
    "open_run",
    "polars_schema",
    "run_folders",
]
