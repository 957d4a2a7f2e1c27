"""Verbs as Typer runs them: help with examples and groups of options, and usage errors in one line."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Final

from typer._click.exceptions import (
    BadOptionUsage,
    BadParameter,
    ClickException,
    MissingParameter,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from httpdyno.errors import HttpdynoError
from httpdyno.experiments.options import Group
from httpdyno.experiments.registry import verbs
from httpdyno.experiments.verb import Example

_APART: Final = 3
"""Spaces between the longest line and what it means."""
_WIDTH: Final = 80
"""Of the narrowest terminal: where an example is longer with what it means, that stands below each line."""

EXAMPLES: Final[dict[str, Sequence[Example]]] = {
    "": (Example("httpdyno bench --quick", "a first look at eleven clients"),),
    **{verb.name: verb.examples for verb in verbs()},
    "try": (
        Example("httpdyno try go-net-http --limit 500", "a line for each URL as it ends"),
        Example("cat urls.txt | httpdyno try python-aiohttp", "a list of your own"),
        Example("httpdyno try node-fetch --limit 500 --format plain", "what the client itself prints"),
    ),
    "urls": (
        Example("httpdyno urls top-sites --limit 500", "those of a web"),
        Example("httpdyno urls top10milliondomains.csv.zip --limit 1000 > urls.txt", "of a table of domains"),
        Example(
            "httpdyno urls https://tranco-list.eu/top-1m.csv.zip --limit 1000 > urls.txt", "of one to be downloaded"
        ),
    ),
    "doctor": (
        Example("httpdyno doctor", "what this machine lacks, what follows, what helps"),
        Example("httpdyno doctor --format json", "the same for programs"),
    ),
    "runs": (
        Example("httpdyno runs", "all runs below runs/, the newest first"),
        Example("httpdyno runs --format json | jq '.[0].run'", "the name of the newest"),
    ),
    "runs prune": (
        Example("httpdyno runs prune --keep 20", "all but the newest 20, after asking"),
        Example("httpdyno runs prune --older 30d --size 2GB --dry-run", "what would go"),
    ),
    "runs pin": (
        Example("httpdyno runs pin latest", "no pruning removes it"),
        Example("httpdyno runs pin latest --remove", "and now it may again"),
    ),
    "report": (
        Example("httpdyno report latest", "the table, and the page"),
        Example("httpdyno report latest --charts charts", "the charts, as SVG and PNG"),
        Example("httpdyno report previous --format markdown", "for a pull request"),
    ),
    "judge": (
        Example("httpdyno judge latest", "would today's rules say the same?"),
        Example("httpdyno judge previous --format json", "what changes, for programs"),
    ),
    "compare": (
        Example("httpdyno compare previous latest", "what changed, and how sure that is"),
        Example("httpdyno compare latest --baseline go-net-http", "all against one"),
        Example("httpdyno compare previous latest --fail-if 'right_per_s < -5%'", "for CI: exit code 1"),
    ),
    "plan": (
        Example("httpdyno plan 1e9/week", "how many machines, with which client?"),
        Example("httpdyno plan 2000/s --from latest --bytes 200KB --rtt 80ms", "your pages, and how far they are"),
        Example("httpdyno plan 100M/week --peak 2 --cores 4 --bandwidth 1gbit", "small machines, and a busy hour"),
    ),
    "query": (
        Example("httpdyno query 'select subject, right_per_s from trials'", "all runs"),
        Example("httpdyno query 'select * from samples' --run latest --format csv", "each URL of the latest"),
        Example("httpdyno query - < question.sql", "from a file"),
    ),
    "published": (
        Example("httpdyno published", "which tables there are"),
        Example("httpdyno published crawl", "one, with its source and machine"),
        Example("httpdyno published crawl --beside latest", "beside a run"),
    ),
    "verify-generator": (
        Example("httpdyno verify-generator", "httpdyno's own generator"),
        Example("httpdyno verify-generator --tool wrk --quick", "a tool, in two seconds a case"),
        Example("httpdyno verify-generator --tool all --case stall", "who sees that a server stalls?"),
    ),
    "subjects": (Example("httpdyno subjects list", "what there is, and what is missing"),),
    "subjects list": (
        Example("httpdyno subjects list", "what there is, and what is missing"),
        Example("httpdyno subjects list --subjects my-clients/", "with your own"),
    ),
    "subjects install": (
        Example("httpdyno subjects install ruby-curb deno-fetch", "with toolchains"),
        Example("httpdyno subjects install", "all of them"),
    ),
    "subjects build": (Example("httpdyno subjects build rust-reqwest", "as a run does at its start"),),
    "subjects probe": (
        Example("httpdyno subjects probe python-httpx nginx", "do their claims hold?"),
        Example("httpdyno subjects probe ./my-server", "one of your own"),
    ),
    "subjects check": (
        Example("httpdyno subjects check ./my-client", "what has to change?"),
        Example("httpdyno subjects check go-net-http", "one that comes with httpdyno"),
    ),
}
"""By the verb as it is typed, the best to begin with first; the engine's verbs have theirs."""


def first_example(verb: str) -> str:
    """Return the first example of a verb; empty without examples."""
    return "".join(f"Example: {line}{' ' * _APART}{meaning}" for line, meaning in EXAMPLES.get(verb, ())[:1])


def examples_text(verb: str, *, more: bool = False) -> str:
    """Return the examples of a verb, all or those after the first (``more``); empty without examples."""
    examples = EXAMPLES.get(verb, ())[more:]
    if not examples:
        return ""
    width = max(len(one.line) for one in examples)
    fits = all(2 + width + _APART + len(one.meaning) <= _WIDTH for one in examples)
    between = " " * _APART if fits else "\n      "
    lines = (f"  {line:{width if fits else 0}}{between}{meaning}" for line, meaning in examples)
    return "\n".join(["More examples" if more else "Examples", *lines, ""])


_LONGEST: Final = 60
"""So much of what was typed is repeated."""


def usage_line(error: ClickException, words: Sequence[str]) -> str | None:
    """Describe the error in a command line, and where its help is.

    ``words`` is what was typed, ``httpdyno`` first. None when all has been said: no verb asks for the help.
    """
    if isinstance(error, NoArgsIsHelpError):
        return None
    said = _error_text(error)
    return f"{said}{' See' if said.endswith('?') else '; see'}: {_command(error, words)} -h"


def environment_label(variable: str) -> str:
    """Name an option that a variable of the environment has set."""
    return f"{variable} (environment)"


def _error_text(error: ClickException) -> str:
    if isinstance(error, MissingParameter):
        return f"{_name(error)} is missing"
    if isinstance(error, BadParameter) and error.param is not None:
        return f"{_name(error)}: {_refused_value(error)}"
    if isinstance(error, NoSuchOption):
        return f"{error.option_name}: there is no such option{_suggestion(error.possibilities or ())}"
    if isinstance(error, BadOptionUsage):
        takes_one = "requires" in error.message
        return f"{error.option_name}: {'its value is missing' if takes_one else 'takes no value'}"
    message = error.format_message().rstrip(".")
    if extra := re.search(r"unexpected extra argument.* \((.*)\)$", message):
        return f"{extra[1]}: more than it takes"
    if unknown := re.match(r"No such command ('.*?')[.]?(?: Did you mean ('.*?')[?])?$", message, re.DOTALL):
        return f"{unknown[1]}: there is no such verb" + (f"; did you mean {unknown[2]}?" if unknown[2] else "")
    return message


def _name(error: BadParameter) -> str:
    """Name an option as it is typed, or the variable of the environment that has set it."""
    param = error.param
    assert param is not None, "Typer knows which one is wrong"
    source = error.ctx.get_parameter_source(param.name or "") if error.ctx else None
    if source is not None and source.name == "ENVIRONMENT":
        return environment_label(str(param.envvar))
    if isinstance(param, TyperOption):
        return next((opt for opt in param.opts if opt.startswith("--")), param.opts[0])
    return param.display_name_raw


def _refused_value(error: BadParameter) -> str:
    cause = error.__cause__
    errors = getattr(cause, "errors", None)
    if errors is None or not isinstance(error.param, TyperOption):
        return error.message.rstrip(".")
    (first, *_) = errors()
    least, most = error.param.min, error.param.max
    whole = str(first["type"]).startswith("int") or isinstance(least, int)
    bounds = "" if least is None else f" of {least} or more" if most is None else f" from {least} to {most}"
    return f"{str(first['input'])[:_LONGEST]!r} is no {'whole ' if whole else ''}number{bounds}"


def _suggestion(names: Sequence[str]) -> str:
    return f"; did you mean {names[0]}?" if names else ""


def _command(error: ClickException, words: Sequence[str]) -> str:
    """Name the command whose help explains more: Typer's context, else the typed verb."""
    context = error.ctx if isinstance(error, UsageError) else None
    if context is not None:
        return context.command_path
    verbs = words[1:3] if words[1:2] in (["subjects"], ["runs"]) else words[1:2]
    return " ".join(["httpdyno", *(word for word in verbs if not word.startswith("-"))])


_OF_EVERY_RUN: Final = {
    **dict.fromkeys(("subjects", "install", "cpus"), Group.MACHINE),
    **dict.fromkeys(("resume", "detach"), Group.RUN),
    **dict.fromkeys(("format", "columns", "out", "artifacts", "help"), Group.RESULTS),
}
"""Where an option stands that is no experiment's own, in a verb whose options are in groups."""
_ORDER: Final = tuple(map(str, Group))


class VerbCommand(TyperCommand):
    """A verb with the meaning of its options, and examples at the end of its help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # Typer's own
        super().__init__(*args, **kwargs)
        self.help = _join_lines(self.help or "")

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the verb; errors of options from the environment name the variable."""
        with _name_variables(self.params, ctx):
            return super().invoke(ctx)

    # Typed as Typer's own, whose parameter is a class that it keeps to itself.
    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401
        """Return arguments and options, each in its group, without what Python calls their types."""
        params = super().get_params(ctx)
        grouped = any(isinstance(param, TyperOption) and param.rich_help_panel for param in params)
        for param in params:
            _dress(param)
            if grouped and isinstance(param, TyperOption) and not param.rich_help_panel:
                param.rich_help_panel = _OF_EVERY_RUN.get(param.name or "")
        # Groups are printed as they are met first.
        return sorted(params, key=_place) if grouped else params

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the help; one example comes before the options, the others after all that Typer prints."""
        shown = copy(self)
        shown.help = _with_example(self.help or "", ctx)
        super(VerbCommand, shown).format_help(ctx, formatter)
        if examples := examples_text(_verb(ctx), more=True):
            formatter.write(f"\n{examples}")


class VerbGroup(TyperGroup):
    """All verbs, or those of ``subjects`` and ``runs``."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401
        """Return the options without what Python calls their types."""
        params = super().get_params(ctx)
        for param in params:
            _dress(param)
        return params

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the verb, as ``VerbCommand`` does."""
        with _name_variables(self.params, ctx):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the help; one example comes before the verbs, those of a group that is a verb itself at the end."""
        shown = copy(self)
        shown.help = _with_example(self.help or "", ctx)
        super(VerbGroup, shown).format_help(ctx, formatter)
        if self.invoke_without_command and (examples := examples_text(_verb(ctx), more=True)):
            formatter.write(f"\n{examples}")


@contextmanager
def _name_variables(params: Sequence[Any], ctx: Any) -> Iterator[None]:  # noqa: ANN401
    """Name the variable in errors of options that the environment has set."""
    try:
        yield
    except HttpdynoError as error:
        for param in params:
            option, source = param.opts[0], ctx.get_parameter_source(param.name)
            if source is not None and source.name == "ENVIRONMENT" and error.line.startswith(f"{option}:"):
                error.args = (environment_label(str(param.envvar)) + error.line.removeprefix(option),)
        raise


def _verb(ctx: Any) -> str:  # noqa: ANN401
    """Return the verb as it is typed after ``httpdyno``."""
    return " ".join(ctx.command_path.split()[1:])


def _with_example(text: str, ctx: Any) -> str:  # noqa: ANN401
    """Return the text of a command with the example of the verb after its first paragraph."""
    about, *paragraphs = text.split("\n\n")
    return "\n\n".join([about, first_example(_verb(ctx)), *paragraphs])


def _place(param: object) -> int:
    group = str(param.rich_help_panel) if isinstance(param, TyperOption) else ""
    return _ORDER.index(group) if group in _ORDER else -1


def _dress(param: object) -> None:
    """Remove types and ranges from the help: ``<bool>``, ``<list[str]>``, ``[x>=1]``."""
    if isinstance(param, TyperOption):
        if param.is_flag:
            param.metavar = ""
        param._get_number_range_help_str = _nothing  # type: ignore[method-assign]
    elif isinstance(param, TyperArgument):
        param.display_type_rich = _nothing  # type: ignore[method-assign]


def _nothing(*_: object, **__: object) -> None:
    return None


def _join_lines(text: str) -> str:
    """Join the lines of each paragraph: the terminal breaks them where it ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
