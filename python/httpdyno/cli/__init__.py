"""The command line: one module a verb, none with logic of its own."""

import sys

__all__ = ["main"]

_ENGINE_VERBS = ("room", "origin", "load", "fetch", "link")
_INTERRUPTED = 130


def main() -> int:
    """Run the command that ``sys.argv`` holds; return its exit code.

    ``room``, ``origin``, ``load``, ``fetch`` and ``link`` are the engine's own: they are handed over before anything
    heavy is imported.
    """
    try:
        return _run()
    except KeyboardInterrupt:
        # Ctrl-C during the imports: nothing has started, so nothing is printed.
        return _INTERRUPTED


def _run() -> int:
    if sys.argv[1:2] and sys.argv[1] in _ENGINE_VERBS:
        from httpdyno.cli.handover import hand_over

        return hand_over(sys.argv[1:])
    from httpdyno.cli.app import run

    return run()
