"""Verbs as Typer runs them, with help that teaches: an example first, options in groups, more examples at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Final

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from httpdyno.cli.examples import examples_text, first_example
from httpdyno.cli.usage import of_environment
from httpdyno.errors import HttpdynoError
from httpdyno.experiments.options import Group

__all__ = ["VerbCommand", "VerbGroup"]

_OF_EVERY_RUN: Final = {
    **dict.fromkeys(("subjects", "install", "cpus"), Group.MACHINE),
    **dict.fromkeys(("resume", "detach"), Group.RUN),
    **dict.fromkeys(("format", "columns", "out", "artifacts", "help"), Group.RESULTS),
}
"""Where an option stands that is no experiment's own, in a verb whose options are in groups."""
_ORDER: Final = tuple(map(str, Group))


class VerbCommand(TyperCommand):
    """A verb; what its options mean stands beside them, what they are for at the end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # Typer's own
        super().__init__(*args, **kwargs)
        self.help = _joined(self.help or "")

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the verb; where a variable of the environment has set an option, an error of it names the variable."""
        with _variables_named(self.params, ctx):
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
        with _variables_named(self.params, ctx):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the help; one example comes before the verbs, those of a group that is a verb itself at the end."""
        shown = copy(self)
        shown.help = _with_example(self.help or "", ctx)
        super(VerbGroup, shown).format_help(ctx, formatter)
        if self.invoke_without_command and (examples := examples_text(_verb(ctx), more=True)):
            formatter.write(f"\n{examples}")


@contextmanager
def _variables_named(params: Sequence[Any], ctx: Any) -> Iterator[None]:  # noqa: ANN401
    """Where a variable of the environment has set an option, have an error of it name the variable."""
    try:
        yield
    except HttpdynoError as error:
        for param in params:
            option, source = param.opts[0], ctx.get_parameter_source(param.name)
            if source is not None and source.name == "ENVIRONMENT" and error.line.startswith(f"{option}:"):
                error.args = (of_environment(str(param.envvar)) + error.line.removeprefix(option),)
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
    """Leave out of the help what says nothing to people: ``<bool>``, ``<list[str]>``, ``[x>=1]``."""
    if isinstance(param, TyperOption):
        if param.is_flag:
            param.metavar = ""
        param._get_number_range_help_str = _nothing  # type: ignore[method-assign]
    elif isinstance(param, TyperArgument):
        param.display_type_rich = _nothing  # type: ignore[method-assign]


def _nothing(*_: object, **__: object) -> None:
    return None


def _joined(text: str) -> str:
    """Join the lines of each paragraph: the terminal breaks them where it ends."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
