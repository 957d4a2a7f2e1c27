"""Starts ``httpdyno load`` without the other verbs: to read them takes longer than to start the engine."""

import sys

__all__ = ["run"]


def run() -> int:
    """Run the command that ``sys.argv`` holds, ``load`` first; return its exit code."""
    from httpdyno.cli.ending import exit_code_of
    from httpdyno.experiments.load.quick import read_quickly
    from httpdyno.experiments.load.words import LOAD_OPTIONS

    values = read_quickly(LOAD_OPTIONS, sys.argv[2:])
    if values is None:
        from httpdyno.cli.load import run_by_typer

        return run_by_typer()
    from httpdyno.cli.load_command import send_load

    return exit_code_of(lambda: send_load(values))
