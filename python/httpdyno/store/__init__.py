"""Runs on disk: written whole or marked partial, and read back."""

from httpdyno.store.files import has_list, keep_list, restore_list
from httpdyno.store.folder import RELATIVE_NAMES, Holder, find_run, holder_of, run_folders
from httpdyno.store.manifest import (
    Difference,
    EngineIdentity,
    GitState,
    Machine,
    Manifest,
    SubjectVersion,
    UrlList,
    WebIdentity,
    describe_git,
    describe_machine,
    differences,
    lockfile_digests,
    subject_differences,
    web_differences,
)
from httpdyno.store.reader import Run, open_run, polars_schema, polars_types, read_manifest
from httpdyno.store.tuned import NotTuned, Tuned, TunedFor, find_tuned, keep_tuned
from httpdyno.store.writer import RunWriter

__all__ = [
    "RELATIVE_NAMES",
    "Difference",
    "EngineIdentity",
    "GitState",
    "Holder",
    "Machine",
    "Manifest",
    "NotTuned",
    "Run",
    "RunWriter",
    "SubjectVersion",
    "Tuned",
    "TunedFor",
    "UrlList",
    "WebIdentity",
    "describe_git",
    "describe_machine",
    "differences",
    "find_run",
    "find_tuned",
    "has_list",
    "holder_of",
    "keep_list",
    "keep_tuned",
    "lockfile_digests",
    "open_run",
    "polars_schema",
    "polars_types",
    "read_manifest",
    "restore_list",
    "run_folders",
    "subject_differences",
    "web_differences",
]
