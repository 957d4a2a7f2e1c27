"""``--against`` of ``cost`` and ``latency``: the negotiated web, and conflicting options."""

from typing import Any, cast

import pytest

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.cost.options import CostOptions
from httpdyno.experiments.cost.plan import Cost, make_cost
from httpdyno.experiments.latency.options import LatencyOptions
from httpdyno.experiments.latency.plan import Latency, make_latency, peer_of
from httpdyno.lab.engine import Engine, Reached
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import read_catalogue

CATALOGUE = read_catalogue(())
NATIVE, APACHE = CATALOGUE.subjects["native"], CATALOGUE.subjects["apache"]
THERE = "http://other:8080"


class _Machines:
    """An engine that knows every web, and another machine whose origin plays one of them."""

    def __init__(self, web: str = "plain", seed: int = 3, *, refusal: InvalidValue | None = None) -> None:
        self._refusal = refusal
        self._there = Reached(THERE, web, seed, f"{web}/{seed}", 187_000)
        self.asked = 0

    def web(self, name: str, *, seed: int | None) -> WebIdentity:
        seed = 1 if seed is None else seed
        return WebIdentity(name, seed, f"{name}/{seed}")

    def reach(self, against: str) -> Reached:
        assert against == THERE
        self.asked += 1
        if self._refusal:
            raise self._refusal
        return self._there


def cost(machines: _Machines, **changes: Any) -> Cost:
    peer = changes.pop("peer", None)
    options = CostOptions(**({"against": THERE} | changes))
    return make_cost(options, (NATIVE,), peer, cast(Engine, machines), lambda _: None)


def latency(machines: _Machines, **changes: Any) -> Latency:
    peer = changes.pop("peer", None)
    options = LatencyOptions(**({"mode": "lines", "against": THERE} | changes))
    return make_latency(options, (NATIVE,), peer, cast(Engine, machines), lambda _: None)


def test_cost_takes_the_web_that_is_played_there_unless_one_is_named() -> None:
    asked = cost(_Machines("wrong-documents", 7))
    assert (asked.against, asked.web, asked.seed, asked.web_digest) == (
        THERE,
        "wrong-documents",
        7,
        "wrong-documents/7",
    )
    named = cost(_Machines("plain", 1), web="plain")
    assert (named.web, named.seed) == ("plain", 1)
    with pytest.raises(UsageError, match="give --web wrong-documents --seed 7, or start it with --web plain --seed 1"):
        cost(_Machines("wrong-documents", 7), web="plain")
    with pytest.raises(UsageError, match="serves mine, which is unknown here"):
        cost(_Machines("mine"))


def test_latency_takes_the_seed_that_is_played_there_and_no_other_web() -> None:
    asked = latency(_Machines("plain", 7))
    assert (asked.against, asked.web, asked.seed, asked.web_digest) == (THERE, "plain", 7, "plain/7")
    # It has no option --web.
    with pytest.raises(UsageError, match="with seed 7; start it with --web plain --seed 7"):
        latency(_Machines("top-sites", 7))


@pytest.mark.parametrize("make", [cost, latency])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"link": "rtt=1ms"}, "--link conflicts with --against"),
        ({"peer": APACHE}, "--peer apache conflicts with --against"),
    ],
)
def test_conflicting_options_are_refused_before_the_origin_is_reached(
    make: Any, changes: dict[str, Any], message: str
) -> None:
    machines = _Machines()
    with pytest.raises(UsageError, match=message):
        make(machines, **changes)
    assert machines.asked == 0


@pytest.mark.parametrize("keepalive", ["both", "off"])
def test_runs_of_a_preset_keep_connections(keepalive: str) -> None:
    assert latency(_Machines(), preset="published", keepalive="on") == latency(_Machines(), preset="published")
    with pytest.raises(UsageError, match=f"--keepalive {keepalive} conflicts with --preset"):
        latency(_Machines(), preset="published", keepalive=keepalive)


def test_another_machine_takes_the_place_of_the_presets_server_and_not_of_a_named_one() -> None:
    assert peer_of(CATALOGUE, LatencyOptions(preset="published", against=THERE)) is None
    preset, named = (
        peer_of(CATALOGUE, LatencyOptions(peer=name, preset="published", against=against))
        for name, against in ((None, None), ("apache", THERE))
    )
    assert preset is not None
    assert named is not None
    assert (preset.id, named.id) == ("flask-dev", "apache")


@pytest.mark.parametrize("make", [cost, latency])
@pytest.mark.parametrize(
    ("refusal", "line"),
    [
        (
            InvalidValue('"nohost" is not a URL; write it like http://other:8080', option="URL"),
            '--against: "nohost" is not a URL; write it like',
        ),
        (
            InvalidValue("http://other:8080 refuses connections; start"),
            "--against: http://other:8080 refuses connections; start",
        ),
    ],
)
def test_a_refusal_of_the_engine_names_the_option(make: Any, refusal: InvalidValue, line: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        make(_Machines(refusal=refusal))
    assert str(refused.value).startswith(line)
