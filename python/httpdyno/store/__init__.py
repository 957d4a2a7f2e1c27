"""Runs on disk: written completely or marked partial, and read back."""

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
from httpdyno.store.reader import RecordMaker, Run, open_run, polars_schema, polars_types, read_manifest
from httpdyno.store.tuned import NotTuned, Tuned, TunedFor, find_tuned, keep_tuned
from httpdyno.store.writer import RunWriter
