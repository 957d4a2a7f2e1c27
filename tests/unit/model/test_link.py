"""Links: as typed, as canonical text, and refusals."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.model import LINK_PRESETS, Link, LinkPath

HOUR_NS = 3600 * 10**9


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("direct", "direct"),
        ("rtt=0,loss=0,mtu=1500", "direct"),
        ("rtt=0.04s", "rtt=40ms"),
        ("rtt=250us", "rtt=250us"),
        ("delay=20ms", "rtt=40ms"),
        ("delay=1801s", "delay=1801s"),
        ("up.delay=20ms", "up.delay=20ms"),
        ("rate=1Gbit", "rate=1gbit,queue=100ms"),
        ("down.rate=14.7mbit,queue=0", "down.rate=14700kbit,queue=0"),
        ("rate=1gbit,up.rate=20mbit,up.queue=1s", "up.rate=20mbit,down.rate=1gbit,up.queue=1s,down.queue=100ms"),
        ("loss=1%,up.loss=0", "down.loss=1%"),
        ("loss=0.0000001%", "loss=0.0000001%"),
        ("4g,rtt=10ms", "rtt=10ms,up.rate=13600kbit,down.rate=14700kbit,queue=100ms"),
        (" lan , mtu=9000", "rtt=300us,rate=1gbit,queue=10ms,mtu=9000"),
    ],
)
def test_a_text_has_one_canonical_form(text: str, canonical: str) -> None:
    link = Link.parse(text)
    assert str(link) == canonical
    assert Link.parse(canonical) == link
    assert link.direct is (canonical == "direct")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("5g", "no preset '5g'"),
        ("rtt=40ms,lan", "a preset must come first"),
        ("rte=40ms", "unknown key 'rte'"),
        ("rtt=40", "is not a time"),
        ("rtt=-1ms", "is not a time"),
        ("rtt=2h", "is not a time"),
        ("rate=0", "is not a rate"),
        ("rate=-1gbit", "is not a rate"),
        ("loss=100%", "is not a loss"),
        ("loss=-1%", "is not a loss"),
        ("mtu=1279", "IPv6"),
        ("up.mtu=1500", "applies to both directions"),
        ("queue=100ms", "queue needs a rate"),
        ("up.queue=1ms,down.rate=1gbit", "up.queue needs a rate"),
        ("rtt=1ms,rtt=1ms", "given twice"),
        ("rtt=40ms,up.delay=1ms", "the distance once"),
        ("rtt=40ms\n,x\n", "is not a time"),
    ],
)
def test_an_impossible_link_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as refusal:
        Link.parse(text)
    assert len(str(refusal.value).splitlines()) == 1
    assert str(refusal.value).startswith("link ")


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinkPath(delay_ns=-1),
        lambda: LinkPath(rate_bits_per_s=0, queue_ns=1),
        lambda: LinkPath(rate_bits_per_s=10**9),
        lambda: LinkPath(queue_ns=1),
        lambda: LinkPath(loss=1.0),
        lambda: LinkPath(loss=-0.1),
        lambda: LinkPath(loss=float("nan")),
        lambda: Link(mtu_bytes=576),
        lambda: Link.symmetric(round_trip_ns=-2),
    ],
)
def test_impossible_values_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidValue, match="link"):
        make()


def test_a_symmetric_link_has_the_usual_queue_where_it_has_a_rate() -> None:
    assert str(Link.symmetric(round_trip_ns=3, rate_bits_per_s=10**9)) == "rtt=3ns,rate=1gbit,queue=100ms"
    assert Link.symmetric() == Link()


def test_every_preset_is_a_link_with_a_source() -> None:
    for preset in LINK_PRESETS:
        assert Link.parse(preset.name) == Link.parse(preset.spec)
        assert preset.source


paths = st.builds(
    lambda delay, limit, loss: LinkPath(delay, *(limit or (None, None)), loss / 10**9),
    st.integers(0, HOUR_NS),
    st.none() | st.tuples(st.integers(1000, 10**12), st.integers(0, HOUR_NS)),
    st.integers(0, 10**9 - 1),
)
links = st.builds(Link, paths, paths, st.integers(1280, 65535))


@given(links)
def test_every_link_reads_as_it_is_written(link: Link) -> None:
    assert Link.parse(str(link)) == link
