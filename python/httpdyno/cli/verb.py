"""Verbs as Click runs them: parameters from annotations, help with examples and groups of options."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import Parameter as FunctionParameter
from inspect import signature
from math import inf
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

import click
from click.core import augment_usage_errors

from httpdyno.cli.completion import offering_kinds
from httpdyno.errors import HttpdynoError
from httpdyno.experiments.option_fields import Option, option_fields

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Example = tuple[str, str]
"""A line to type, and its purpose."""

_APART: Final = 3
"""Spaces between the longest example and its purpose."""
_LONGEST: Final = 60
"""Characters of a wrong value that an error repeats."""
REQUIRED: Final = FunctionParameter.empty
"""The default of a parameter that must be given."""


class VerbOption(click.Option):
    """An option with its heading in help."""

    def __init__(self, *args: Any, group: str = "", shown_default: str | None = None, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.group = group
        self.shown_default = shown_default


class VerbArgument(click.Argument):
    """An argument with its meaning."""

    def __init__(self, *args: Any, help: str, **kwargs: Any) -> None:  # noqa: A002, ANN401
        super().__init__(*args, **kwargs)
        self.help = help

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the word of the usage line: ``[SUBJECT]...``."""
        del ctx
        word = str(self.metavar)
        return (word if self.required else f"[{word}]") + ("..." if self.nargs != 1 else "")


class _Number(click.ParamType):  # type: ignore[type-arg]  # generic since Click 8.5
    name = "number"

    def __init__(self, kind: type[int] | type[float], least: float | None, most: float | None) -> None:
        self.kind, self.least, self.most = kind, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        least, most = -inf if self.least is None else self.least, inf if self.most is None else self.most
        try:
            if least <= (number := self.kind(value)) <= most:
                return number
        except ValueError:
            pass
        bounds = "" if self.least is None else f" of {least} or more" if most == inf else f" from {least} to {most}"
        kind = "a whole number" if self.kind is int else "a number"
        return self.fail(f"{str(value)[:_LONGEST]!r} is not {kind}{bounds}", param, ctx)


def make_parameter(name: str, typed: Any, mark: Option, default: object) -> VerbOption | VerbArgument:  # noqa: ANN401
    """Return the option or argument of a marked parameter; without a default it is required."""
    kind = next(one for one in (get_args(typed) if isinstance(typed, UnionType) else (typed,)) if one is not NoneType)
    several = get_origin(kind) is list
    kind = get_args(kind)[0] if several else kind
    offers = offering_kinds([mark.offers]) if isinstance(mark.offers, str) else mark.offers

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list["CompletionItem"]:
        return offered_items(offers(context) if callable(offers) else offers, incomplete)

    how: dict[str, Any] = {
        "type": kind,
        "metavar": mark.metavar,
        "help": mark.help,
        "envvar": mark.environment,
        "callback": mark.check,
        "shell_complete": complete,
    }
    if kind in (int, float):
        how["type"] = _Number(kind, mark.least, mark.most)
    elif kind is Path:
        how["type"] = click.Path(path_type=Path)
    how |= {"required": True} if default is REQUIRED else {"default": default}
    if not mark.flag:
        return VerbArgument([name], **how | {"nargs": -1 if several else 1})
    how |= {"is_flag": True} if kind is bool else {"multiple": several}
    how |= {"hidden": mark.hidden, "group": mark.group, "shown_default": mark.shown_default}
    return VerbOption([*mark.flag.split(", "), name], **how)


def offered_items(words: Iterable[str], incomplete: str) -> list["CompletionItem"]:
    """Return the words that continue an incomplete one; files when there are none."""
    from click.shell_completion import CompletionItem

    items = [CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def parameters_of(function: Callable[..., object]) -> list[click.Parameter]:
    """Return the options and arguments of a function whose parameters are marked with ``Option``."""
    marked = [one for one in signature(function).parameters.values() if one.name != "context"]
    typed_and_mark = ((one, *get_args(one.annotation)[:2]) for one in marked)
    return [make_parameter(one.name, typed, mark, one.default) for one, typed, mark in typed_and_mark]


def option_parameters(options: type[Any], *names: str) -> list[click.Parameter]:
    """Return the options of a dataclass as parameters; with ``names`` those of these fields."""
    chosen = [one for one in option_fields(options) if not names or one.name in names]
    return [make_parameter(one.option.parameter, one.typed, one.option, one.default) for one in chosen]


class VerbCommand(click.Command):
    """A verb: its help has the first example before the options, and the other examples at the end."""

    def __init__(
        self,
        name: str,
        function: Callable[..., object] | None,
        params: Sequence[click.Parameter],
        help: str,  # noqa: A002
        *,
        examples: Sequence[Example] = (),
        groups: Sequence[str] = (),
        **more: Any,  # noqa: ANN401
    ) -> None:
        # Lines of a paragraph are joined: the terminal breaks them where it ends.
        text = "\n\n".join(" ".join(paragraph.split()) for paragraph in help.split("\n\n"))
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 10_000}
        settings |= more.pop("context_settings", {})
        super().__init__(name, callback=function, params=list(params), help=text, context_settings=settings, **more)
        self.examples = examples
        self.groups = groups
        """Headings of options, in this order; an option without a heading stands below the last."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options and arguments; raise ``click.UsageError`` for unexpected arguments."""
        takes_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        with augment_usage_errors(ctx):
            rest = super().parse_args(ctx, args)
        if rest and not takes_more and not ctx.resilient_parsing:
            raise click.UsageError(f"{' '.join(rest)}: unexpected argument", ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the verb; in errors of options that the environment has set, name the variable."""
        try:
            return super().invoke(ctx)
        except HttpdynoError as error:
            for param in self.params:
                if error.option in param.opts and is_given(ctx, param.name or "", "ENVIRONMENT"):
                    error.option = spelled_name(param, ctx)
            raise

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        self.format_usage(ctx, formatter)
        about, *paragraphs = (self.help or "").split("\n\n")
        for text in filter(None, [about, first_example(self.examples), *paragraphs]):
            formatter.write("\n" + "\n".join(_wrap(text, formatter.width)) + "\n")
        for title, rows in self.sections(ctx).items():
            formatter.write(f"\n{title}:\n")
            for line in _table(rows, formatter.width):
                formatter.write(f"{line}\n")
        if more := examples_text(self.examples[1:], "More examples"):
            formatter.write(f"\n{more}")

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the sections of the help: rows of two columns by their headings."""
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *self.groups)}
        for param in (one for one in self.get_params(ctx) if not getattr(one, "hidden", False)):
            title, term = "Arguments", str(param.metavar)
            if isinstance(param, click.Option):
                title = getattr(param, "group", self.groups[-1]) if self.groups else "Options"
                term = option_spellings(param)
            found.setdefault(title, []).append((term, _meaning(param)))
        return {title: rows for title, rows in found.items() if rows}


class UnknownVerb(click.UsageError):
    """A verb does not exist; ``near`` is the closest one, in quotes, or empty."""

    def __init__(self, message: str, ctx: click.Context, near: str) -> None:
        """Take the message and the suggestion."""
        super().__init__(message, ctx)
        self.near = near


class VerbGroup(VerbCommand, click.Group):
    """Several verbs below one name, which prints its help if it has no function itself."""

    def __init__(
        self,
        name: str,
        function: Callable[..., object] | None,
        params: Sequence[click.Parameter],
        help: str,  # noqa: A002
        *,
        commands: Sequence[click.Command] = (),
        **more: Any,  # noqa: ANN401
    ) -> None:
        below = {str(command.name): command for command in commands}
        alone = {"invoke_without_command": True} if function else {"no_args_is_help": True}
        super().__init__(name, function, params, help, commands=below, **alone | more)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs in their order."""
        del ctx
        return [name for _, name, _ in self.summaries()]

    def summaries(self) -> Iterator[tuple[str, str, str]]:
        """Return heading, name and summary of each verb."""
        for name, command in self.commands.items():
            yield "Commands", name, (command.help or "").split("\n\n")[0]

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Return the sections of the help, with those of the verbs."""
        found = super().sections(ctx)
        for title, name, summary in self.summaries():
            found.setdefault(title, []).append((name, summary))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; an unknown one is a usage error with a suggestion."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not ctx.resilient_parsing:
            from difflib import get_close_matches  # heavy: imported only for errors

            near = "".join(map(repr, get_close_matches(name, known)[:1]))
            raise UnknownVerb(f"{name!r}: there is no such verb", ctx, near)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the verbs, and the options; no verb is imported for that."""
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=text) for _, name, text in self.summaries() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]


def verb(name: str, *, examples: Sequence[Example] = ()) -> Callable[[Callable[..., None]], VerbCommand]:
    """Make a function with marked parameters a verb."""

    def make(function: Callable[..., None]) -> VerbCommand:
        return VerbCommand(name, function, parameters_of(function), function.__doc__ or "", examples=examples)

    return make


def option_spellings(option: click.Option) -> str:
    """Return the spellings of an option, the short ones first, with the word for its value: ``-o, --out DIR``."""
    names = ", ".join(sorted(option.opts, key=lambda name: name.startswith("--")))
    return names if option.is_flag else f"{names} {option.metavar or ''}".rstrip()


def _meaning(param: click.Parameter) -> str:
    """Return the help of a parameter with its variable and its default."""
    default = param.default if isinstance(param, VerbOption | VerbArgument) and not param.required else None
    if shown := getattr(param, "shown_default", None):
        default = f"({shown})"
    parts = [
        getattr(param, "help", None),
        f"[env var: {param.envvar}]" if param.envvar else "",
        "" if default in (None, "") or default is False else f"[default: {default}]",
        "[required]" if param.required else "",
    ]
    return " ".join(filter(None, parts))


def first_example(examples: Sequence[Example]) -> str:
    """Return the first example as a line; empty without examples."""
    return "".join(f"Example: {line}{' ' * _APART}{meaning}" for line, meaning in examples[:1])


def examples_text(examples: Sequence[Example], title: str = "Examples") -> str:
    """Return examples below a title; empty without examples."""
    if not examples:
        return ""
    width = max(len(line) for line, _ in examples)
    # A narrow terminal has 80 columns: in longer examples the purpose is on the next line.
    fits = all(2 + width + _APART + len(meaning) <= 80 for _, meaning in examples)
    between = " " * _APART if fits else "\n      "
    lines = (f"  {line:{width if fits else 0}}{between}{meaning}" for line, meaning in examples)
    return "\n".join([title, *lines, ""])


def _table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    # After a term of more than 30 columns the meaning begins on the next line.
    column = min(max(len(term) for term, _ in rows), 30) + 2
    for term, meaning in rows:
        first, *more = _wrap(meaning, width - column - 2) or [""]
        if len(term) + 2 > column:
            yield f"  {term}"
            term = ""
        yield f"  {term:{column}}{first}".rstrip()
        yield from (f"  {'':{column}}{line}" for line in more)


def _wrap(text: str, width: int) -> list[str]:
    # Names such as top-sites stay whole.
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def is_given(context: click.Context, name: str, *sources: str) -> bool:
    """Return whether a parameter comes from one of the sources: by default the command line or the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in (sources or ("COMMANDLINE", "ENVIRONMENT"))


def spelled_name(param: click.Parameter, context: click.Context | None) -> str:
    """Name a parameter as it is typed, or the variable of the environment that has set it."""
    if context is not None and is_given(context, param.name or "", "ENVIRONMENT"):
        return f"{param.envvar} (environment)"
    if isinstance(param, VerbArgument):
        return str(param.metavar)
    return next((spelled for spelled in param.opts if spelled.startswith("--")), param.opts[0])
