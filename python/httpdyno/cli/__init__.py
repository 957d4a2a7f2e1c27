"""The command line: one module a verb, none with logic of its own."""

import os
import sys
from collections.abc import Sequence

__all__ = ["ENGINE_VERBS", "hand_over", "main", "names_cluster"]

ENGINE_VERBS = ("room", "origin", "load", "load-merge", "clock", "fetch", "split", "merge", "link")
"""Verbs that the engine carries out, and describes."""


def main() -> int:
    """Run the command in ``sys.argv``; return its exit code.

    The engine runs ``ENGINE_VERBS``; no heavy module is imported before that.
    """
    try:
        if sys.argv[1:2] and sys.argv[1] in ENGINE_VERBS and not names_cluster(sys.argv[1:]):
            return hand_over(sys.argv[1:])
        from httpdyno.cli.app import run

        return run()
    except KeyboardInterrupt:
        # Ctrl-C during the imports: nothing has started, so nothing is printed.
        return 130


def names_cluster(arguments: Sequence[str]) -> bool:
    """Return whether ``fetch`` or ``load`` is called with ``--cluster``: the only option that is read here."""
    if arguments[:1] not in (["fetch"], ["load"]) or not any(one.startswith("--cluster") for one in arguments):
        return False
    from httpdyno.cluster.command_line import is_for_cluster

    return is_for_cluster(arguments[1:])


def hand_over(arguments: Sequence[str]) -> int:
    """Replace this process by the engine; return an exit code only when that fails.

    The arguments are the verb and all words after it, also ``--help``: the engine describes its own options.
    """
    from httpdyno.subjects.engine_program import describe_missing_engine, usable_engine

    if engine := usable_engine():
        if arguments[:1] == ["fetch"]:
            # Converts the rows of --format parquet after the crawl.
            os.environ["HTTPDYNO_PYTHON"] = sys.executable
        try:
            # The engine gets the name of the typed command, so that usage and errors show that name.
            os.execv(engine, ["httpdyno", *arguments])
        except OSError as error:
            line = f"the engine cannot be started: {error.strerror}"
    else:
        line = describe_missing_engine()
    sys.stderr.write(f"httpdyno: {line}\n")
    return 3
