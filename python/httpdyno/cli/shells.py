"""Completion in bash, zsh and fish: the answers to a shell that completes a line, and the scripts that ask for them."""

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

from httpdyno.errors import UsageError

VARIABLE: Final = "_HTTPDYNO_COMPLETE"
"""Request of a shell: ``bash_source`` or ``bash_complete``; also ``source_bash``."""
_INSTALLED: Final = {
    "bash": (".bash_completions/httpdyno.sh", ".bashrc", "source '{}'"),
    "zsh": (".zfunc/_httpdyno", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/httpdyno.fish", None, ""),
}
"""The file of each shell's script, and the file and the line that make the shell read it: both below the home."""


def answer_shell(command: click.Command, request: str) -> int:
    """Print the answer to a request of the shell; return the exit code."""
    first, _, last = request.partition("_")
    request = f"{last}_{first}" if first in {"source", "complete"} else request
    return shell_complete(command, {}, "httpdyno", VARIABLE, request)


def show_completion(command: click.Command) -> None:
    """Print the script for the shell that has started this process."""
    answer_shell(command, f"{_shell_name()}_source")


def install_completion(command: click.Command) -> None:
    """Write the script to where the shell that has started this process reads it, and print the file."""
    shell, home = _shell_name(), Path.home()
    place, startup, line = _INSTALLED[shell]
    path, kind = home / place, get_completion_class(shell)
    assert kind is not None, "Click knows these shells"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kind(command, {}, "httpdyno", VARIABLE).source(), encoding="utf-8")
    if startup is not None:
        file, line = home / startup, line.format(path)
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if line not in text:
            file.write_text(f"{text}\n{line}\n", encoding="utf-8")
    click.echo(f"{shell} completion installed in {path}")
    click.echo("Completion will take effect once you restart the terminal")


def _shell_name() -> str:
    """Return the nearest of the parent processes that is a known shell, else that of the login."""
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
        raise UsageError(f"completion: the shell is none of {', '.join(_INSTALLED)}; see docs/start.md")
    return name
