"""Completion in bash, zsh and fish: the scripts, their installation, the answers to a shell that completes a line."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from httpdyno.errors import UsageError

__all__ = ["VARIABLE", "answer_shell", "install_completion", "show_completion"]

VARIABLE: Final = "_HTTPDYNO_COMPLETE"
"""Request of a shell: ``source_bash`` or ``complete_bash``; or in Click's order, ``bash_source``."""
_LINE: Final = "_HTTPDYNO_LINE"
"""The line before the cursor, of zsh and fish."""


class _Bash(ShellComplete):
    name = "bash"
    # Without an offer, bash completes names of files.
    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n'
    COMPREPLY=( $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=complete_bash $1) )
}
complete -o default -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, place = split_arg_string(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
        return words[1:place], "".join(words[place : place + 1])

    def complete(self) -> str:
        return "\n".join(str(item.value) for item in self.offered())

    def offered(self) -> list[CompletionItem]:
        """Return the offers; files and folders are left to the shell."""
        return [item for item in self.get_completions(*self.get_completion_args()) if item.type == "plain"]


class _OfLine(_Bash):
    """A shell that passes the line before the cursor."""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get(_LINE, "")
        words = split_arg_string(line)[1:]
        return (words, "") if not words or line.endswith(" ") else (words[:-1], words[-1])


class _Zsh(_OfLine):
    name = "zsh"
    source_template = """\
#compdef %(prog_name)s
%(complete_func)s() {
  eval $(env _HTTPDYNO_LINE="${words[1,$CURRENT]}" %(complete_var)s=complete_zsh %(prog_name)s)
}
compdef %(complete_func)s %(prog_name)s
"""

    def complete(self) -> str:
        lines = [f'"{_quoted(one.value)}"' + (f':"{_quoted(one.help)}"' if one.help else "") for one in self.offered()]
        return f"_arguments '*: :(({chr(10).join(lines)}))'" if lines else "_files"


def _quoted(text: str) -> str:
    for mark, quoted in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", r"\\:")):
        text = text.replace(mark, quoted)
    return text


class _Fish(_OfLine):
    name = "fish"
    # The condition turns the completion off, and that of files on, where there is no offer.
    source_template = """\
function %(complete_func)s
    env %(complete_var)s=complete_fish _HTTPDYNO_LINE=(commandline -cp) %(prog_name)s
end
complete --command %(prog_name)s --no-files --arguments "(%(complete_func)s)" \
    --condition "count (%(complete_func)s) > /dev/null"
"""

    def complete(self) -> str:
        return "\n".join(f"{item.value}\t{' '.join((item.help or '').split())}".rstrip() for item in self.offered())


_SHELLS: Final[Mapping[str, type[_Bash]]] = {kind.name: kind for kind in (_Bash, _Zsh, _Fish)}


def answer_shell(command: click.Command, asked: str) -> int:
    """Print the answer to the shell's request; return the exit code."""
    words = set(asked.split("_"))
    shell = next((_SHELLS[name] for name in _SHELLS if name in words), None)
    if shell is None or not words & {"source", "complete"}:
        return 1
    completion = shell(command, {}, "httpdyno", VARIABLE)
    # Nothing, and no empty line either, where there is no offer: fish would take it for one.
    if text := completion.source() if "source" in words else completion.complete():
        click.echo(text.rstrip())
    return 0


def show_completion(command: click.Command) -> None:
    """Print the script for the shell that has started this process."""
    click.echo(_SHELLS[_shell_name()](command, {}, "httpdyno", VARIABLE).source(), nl=False)


def install_completion(command: click.Command) -> None:
    """Write the script to where the shell that has started this process reads it, and print the file."""
    shell, home = _shell_name(), Path.home()
    script = _SHELLS[shell](command, {}, "httpdyno", VARIABLE).source()
    if shell == "bash":
        path = home / ".bash_completions" / "httpdyno.sh"
        _append(home / ".bashrc", f"source '{path}'")
    elif shell == "zsh":
        path = home / ".zfunc" / "_httpdyno"
        _append(home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit")
    else:
        path = home / ".config" / "fish" / "completions" / "httpdyno.fish"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    click.echo(f"{shell} completion installed in {path}")
    click.echo("Completion will take effect once you restart the terminal")


def _append(file: Path, line: str) -> None:
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if line not in text:
        file.write_text(f"{text}\n{line}\n", encoding="utf-8")


def _shell_name() -> str:
    """Return the nearest of the parent processes that is a known shell, else that of the login."""
    process = os.getppid()
    while process > 1:
        try:
            name, _, after = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
        except OSError:
            break
        if name in _SHELLS:
            return name
        process = int(after.split()[1])
    name = Path(os.environ.get("SHELL", "")).name
    if name not in _SHELLS:
        raise UsageError(f"completion: the shell is none of {', '.join(_SHELLS)}; see docs/guide/install.md")
    return name
