"""Runs on disk: written completely or marked partial, and read back."""

from httpdyno.store.files import keep_list, kept_list
from httpdyno.store.folder import RELATIVE_NAMES, find_run, holder_of, run_folders
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
    read_manifest,
    subject_differences,
    web_differences,
)
from httpdyno.store.reader import Run, open_run, polars_schema, polars_types
from httpdyno.store.tuned import NotTuned, Tuned, TunedFor, find_tuned, keep_tuned
from httpdyno.store.writer import RunWriter
