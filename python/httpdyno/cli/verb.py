"""Verbs as Typer runs them, with help that teaches: options in groups, examples at the end."""

from typing import Any, Final

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from httpdyno.cli.examples import examples_text
from httpdyno.cli.usage import of_environment
from httpdyno.errors import HttpdynoError

__all__ = ["Verb", "VerbGroup"]

_MEASURED: Final = "What is measured"
_WAY: Final = "The web, and the way to it"
_LIVE: Final = "The real internet"
_PUBLISHED: Final = "What others have published"
_MACHINE: Final = "Subjects, and the machine"
_RUN: Final = "The run"
_RESULTS: Final = "Results"

_GROUPS: Final = {
    **dict.fromkeys(("web", "seed", "link", "link_seed", "against", "peer"), _WAY),
    **dict.fromkeys(("rtt", "link_rate", "queue", "loss"), _WAY),
    **dict.fromkeys(("per_host", "per_host_interval", "contact", "yes"), _LIVE),
    **dict.fromkeys(("preset", "scale", "as_labelled"), _PUBLISHED),
    **dict.fromkeys(("subjects", "every", "install", "cpus", "memory"), _MACHINE),
    **dict.fromkeys(("repeat", "quick", "resume", "detach"), _RUN),
    **dict.fromkeys(("format", "out", "help"), _RESULTS),
}
"""Where an option stands, by its parameter; all others say what is measured."""
_ORDER: Final = (_MEASURED, _WAY, _LIVE, _PUBLISHED, _MACHINE, _RUN, _RESULTS)
_WITH_GROUPS: Final = frozenset({"bench", "try", "tune", "capacity", "cost", "latency", "service"})
"""Verbs with more options than can be read in one heap."""
_WITH_OWN_GROUPS: Final = frozenset({"load"})


class Verb(TyperCommand):
    """A verb; what its options mean stands beside them, what they are for at the end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # Typer's own
        super().__init__(*args, **kwargs)
        self.help = _joined(self.help or "")

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the verb; where a variable of the environment has set an option, an error of it names the variable.

        Raises
        ------
        HttpdynoError
            Whatever the verb fails by.
        """
        try:
            return super().invoke(ctx)
        except HttpdynoError as error:
            for param in self.params:
                option, source = param.opts[0], ctx.get_parameter_source(param.name)
                if source is not None and source.name == "ENVIRONMENT" and error.line.startswith(f"{option}:"):
                    error.args = (of_environment(str(param.envvar)) + error.line.removeprefix(option),)
            raise

    # Typed as Typer's own, whose parameter is a class that it keeps to itself.
    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401
        """Return arguments and options, each in its group, without what Python calls their types."""
        params = super().get_params(ctx)
        for param in params:
            _dress(param)
            if isinstance(param, TyperOption) and (panel := self._panel(param.name or "")):
                param.rich_help_panel = panel
        # Groups are printed as they are met first.
        return sorted(params, key=_place) if self.name in _WITH_GROUPS else params

    def _panel(self, option: str) -> str | None:
        """Name the group of an option; None: the one that it has."""
        if self.name in _WITH_GROUPS:
            # A capacity asks before it takes hours, the others before they ask the real internet.
            return _RUN if (self.name, option) == ("capacity", "yes") else _GROUPS.get(option, _MEASURED)
        return _RESULTS if self.name in _WITH_OWN_GROUPS and option == "help" else None

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Print the help; the examples come after all that Typer prints."""
        super().format_help(ctx, formatter)
        if examples := examples_text(ctx.command_path.removeprefix("httpdyno ")):
            formatter.write(f"\n{examples}")


class VerbGroup(TyperGroup):
    """All verbs, or those of ``subjects``."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401
        """Return the options without what Python calls their types."""
        params = super().get_params(ctx)
        for param in params:
            _dress(param)
        return params


def _place(param: object) -> int:
    return _ORDER.index(str(param.rich_help_panel)) if isinstance(param, TyperOption) else -1


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
