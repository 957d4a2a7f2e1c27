"""Completion in bash, zsh and fish: the offered words, the scripts for the shells, and the answers to those scripts.

Offers read only the names of folders; each imports only the modules that it needs.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import click
from click import Context

from httpdyno.errors import HttpdynoError, UsageError


def offering_kinds(kinds: Iterable[str] = ()) -> Callable[[Context], set[str]]:
    """Return an offer of subjects, built-in and of ``--subjects``, without those named already; of all kinds if none.

    Names of folders are read when the shell asks.
    """
    below = [f"{kind}s" for kind in kinds] or [""]

    def offer(context: Context) -> set[str]:
        from httpdyno.subjects.folders import builtin_folder, subject_folders

        tops = [*(builtin_folder() / name for name in below), *(context.params.get("subjects") or ())]
        names = {folder.resolve().name for top in tops for folder in subject_folders(top)}
        named = context.params.get("names") or ()
        return names.difference([named] if isinstance(named, str) else named)

    return offer


def offer_conform(context: Context) -> list[str]:
    """Offer clients and scripted cases."""
    from httpdyno.judge.scripted.case_file import FOLDER

    cases = [f"{path.parent.name}/{path.stem}" for path in sorted(FOLDER.glob("*/*.toml"))]
    return [*sorted(offering_kinds(("client",))(context)), *cases]


def offer_generators(_: Context) -> list[str]:
    """Offer httpdyno's own generator, the load tools, and all of them."""
    from httpdyno.subjects.folders import builtin_folder, subject_folders

    return ["all", "httpdyno", *(folder.name for folder in subject_folders(builtin_folder() / "tools"))]


def offer_cases(_: Context) -> list[str]:
    """Offer the servers with known behaviour."""
    from httpdyno.experiments.verify_generator.cases import CASES

    return [case.name for case in CASES]


def offer_runs(context: Context) -> list[str]:
    """Offer the runs in the folder of runs; the shell itself offers other folders."""
    from httpdyno.store import RELATIVE_NAMES, run_folders

    folders = run_folders(context.params.get("runs") or context.params.get("out") or Path("runs"))
    return [*RELATIVE_NAMES[: len(folders)], *(folder.name for folder in folders)]


def offer_run_subjects(context: Context) -> list[str]:
    """Offer the subjects of the run that the line names."""
    from httpdyno.store import find_run, read_manifest

    # The completed option has no value yet, so Click has not parsed the arguments.
    named = [*context.args, context.params.get("first")]
    try:
        folder = find_run(next(filter(None, named), ""), context.params.get("runs") or Path("runs"))
        return [subject.id for subject in read_manifest(folder).subjects]
    except HttpdynoError:
        return []  # the command itself reports the error


def offer_metrics(_: Context) -> set[str]:
    """Offer the metrics with a direction, those of all experiments."""
    from httpdyno.experiments.registry import definition_of, experiment_names
    from httpdyno.model import Direction

    metrics = [metric for name in experiment_names() for metric in definition_of(name).presentation.metrics]
    return {metric.name for metric in metrics if metric.better is not Direction.NEITHER}


def offer_published(_: Context) -> Sequence[str]:
    """Offer the published tables."""
    from httpdyno.published import published_names

    return published_names()


def offer_own_webs(_: Context) -> Sequence[str]:
    """Offer the webs that come with the engine."""
    from httpdyno.experiments.options import WEBS

    return WEBS


def offer_formats(_: Context) -> Sequence[str]:
    """Offer the formats of tables."""
    from httpdyno.report.formats import format_names

    return format_names()


def offers_of_engine(verb: str, context: Context, incomplete: str) -> Iterable[str]:
    """Offer the options that the help of an engine's verb lists, and the named webs, links and formats."""
    from httpdyno.experiments.options import LINKS

    before = "".join(context.args[-1:])
    if before == "--link" or (verb == "link" and not incomplete.startswith("-")):
        return LINKS
    if before in ("--web", "--format"):
        return (offer_own_webs if before == "--web" else offer_formats)(context)
    return _options_of_engine(verb) if incomplete.startswith("-") and "--" not in context.args else []


def _options_of_engine(verb: str) -> Iterable[str]:
    import subprocess

    from httpdyno.subjects.engine_program import find_engine

    try:
        help_text = subprocess.run([find_engine(), verb, "-h"], capture_output=True, text=True, timeout=2, check=True)
    except (HttpdynoError, OSError, subprocess.SubprocessError):
        return []  # the command itself reports the error
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", help_text.stdout, re.MULTILINE))


_VARIABLE: Final = "_HTTPDYNO_COMPLETE"
"""Request of a shell: ``bash_source`` or ``bash_complete``; also ``source_bash``."""
_INSTALLED: Final = {
    "bash": (".bash_completions/httpdyno.sh", ".bashrc", "source '{}'"),
    "zsh": (".zfunc/_httpdyno", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/httpdyno.fish", None, ""),
}
"""The file of each shell's script, and the file and line that make the shell read it; both files are below the home."""


def answer_shell(command: click.Command, request: str) -> int:
    """Print the answer to a request of the shell; return the exit code."""
    from click.shell_completion import shell_complete

    first, _, last = request.partition("_")
    request = f"{last}_{first}" if first in {"source", "complete"} else request
    return shell_complete(command, {}, "httpdyno", _VARIABLE, request)


def show_completion(command: click.Command) -> None:
    """Print the script for the shell that has started this process."""
    answer_shell(command, f"{_shell_name()}_source")


def install_completion(command: click.Command) -> None:
    """Write the script where the shell that started this process reads it, and print its path."""
    from click.shell_completion import get_completion_class

    shell, home = _shell_name(), Path.home()
    place, startup, line = _INSTALLED[shell]
    path, kind = home / place, get_completion_class(shell)
    assert kind is not None, "Click knows these shells"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kind(command, {}, "httpdyno", _VARIABLE).source(), encoding="utf-8")
    if startup is not None:
        file, line = home / startup, line.format(path)
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if line not in text:
            file.write_text(f"{text}\n{line}\n", encoding="utf-8")
    click.echo(f"{shell} completion installed in {path}")
    click.echo("Completion will take effect once you restart the terminal")


def _shell_name() -> str:
    """Return the nearest known shell among the parent processes, else the login shell."""
    process = os.getppid()
    while process > 1:
        try:
            name, _, after = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
        except OSError:
            break
        if name in _INSTALLED:
            return name
        process = int(after.split()[1])
    name = Path(os.environ.get("SHELL", "")).name
    if name not in _INSTALLED:
        raise UsageError(f"completion: the shell is not one of {', '.join(_INSTALLED)}; see docs/start.md")
    return name
