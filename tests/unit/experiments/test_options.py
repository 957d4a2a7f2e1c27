"""Options as fields: listing, reading, storing, and the verb made from them."""

from dataclasses import dataclass
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner

from httpdyno.cli.options import experiment_verb
from httpdyno.errors import InvalidValue
from httpdyno.experiments.cost.options import CostOptions
from httpdyno.experiments.latency.options import LatencyOptions
from httpdyno.experiments.option_fields import Option, option_fields, read_options
from httpdyno.experiments.options import LINK, MEMORY, TIMEOUT, Verb, web_option
from httpdyno.experiments.restoring import settings_of


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Two options, and a field that is none."""

    timeout_s: Annotated[float, TIMEOUT] = 5.0
    often: Annotated[int | None, Option("--how-often", "Times.", environment="OFTEN", least=1)] = None
    web: Annotated[str, web_option("plain")] = "plain"
    found: int = 7


def typed(**changes: object) -> dict[str, Any]:
    return {"timeout": "5", "how_often": None, "web": "plain"} | changes


def test_fields_that_are_marked_are_options_and_others_are_not() -> None:
    timeout, often, web = option_fields(Toy)
    assert (timeout.name, timeout.option.parameter, timeout.typed, timeout.default) == (
        "timeout_s",
        "timeout",
        str,
        "5",
    )
    assert (often.name, often.option.parameter, often.typed, often.default) == ("often", "how_often", int | None, None)
    assert web.default == "plain"


def test_what_is_typed_is_read_once() -> None:
    assert read_options(Toy, typed(timeout="800ms")) == {"timeout_s": 0.8, "often": None, "web": "plain"}
    with pytest.raises(InvalidValue, match="^--timeout: 'soon'"):
        read_options(Toy, typed(timeout="soon"))


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [(MEMORY, "2GiB", 2**31), (LINK, "rtt=40ms,up.rate=1gbit", "rtt=40ms,up.rate=1gbit,queue=100ms")],
)
def test_shared_options_are_read_as_their_fields_want_them(option: Option, text: str, value: object) -> None:
    assert option.read is not None
    assert option.read(text, option.flag) == value


def test_the_manifest_keeps_fields_but_those_that_say_they_are_not_kept() -> None:
    assert settings_of(Toy(often=3)) == {"timeout_s": 5.0, "often": 3, "found": 7}


def test_a_verb_has_them_the_environment_too_and_refuses_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[object, object]] = []

    def run(context: click.Context, verb: Verb) -> None:
        read.append((context.params["names"], verb.options(**read_options(verb.options, context.params))))

    monkeypatch.setattr("httpdyno.cli.running.run_and_show", run)
    toy = experiment_verb(Verb("toy", Toy, help="Toys.", names="Clients."))
    monkeypatch.setenv("OFTEN", "4")
    runner = CliRunner()
    assert runner.invoke(toy, ["native", "--timeout", "2s"]).exit_code == 0
    assert read == [(("native",), Toy(timeout_s=2.0, often=4))]
    assert runner.invoke(toy, ["--how-often", "0"]).exit_code == 2
    assert isinstance(runner.invoke(toy, ["--timeout", "soon"]).exception, InvalidValue)
    assert len(read) == 1


@pytest.mark.parametrize("kind", [CostOptions, LatencyOptions])
def test_no_two_options_of_an_experiment_are_typed_alike(kind: type) -> None:
    flags = [one.option.flag for one in option_fields(kind)]
    assert len(flags) == len(set(flags))
    assert all(one.option.help for one in option_fields(kind))
