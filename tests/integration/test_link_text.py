"""The engine and Python read, write and refuse the same links."""

import json
import subprocess
from dataclasses import asdict
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.lab.engine import Engine
from httpdyno.model import LINK_PRESETS, Link, LinkPath

SPECS = (
    "direct",
    "rtt=0",
    "rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%,mtu=1500",
    "4g,loss=0",
    "broadband,rate=1gbit",
    "satellite,queue=1s,up.loss=1%",
    "delay=20ms,up.delay=5ms",
    "delay=3600s",
    "delay=1800s",
    "rate=1.5Mbit",
    "rtt=3ns",
    "rate=1gbit,queue=0",
    "loss=0.0000001%",
    " lan , mtu=9000",
    "down.rate=1gbit,queue=5ms",
    "lan,up.rate=1kbit",
    "mtu=01500",
    "",
    ",",
    "rtt=40ms,",
    "5g",
    "lan,4g",
    "rtt=40ms,lan",
    "rtt",
    "rtt=",
    "=",
    "rtt=40",
    "rtt=-1ms",
    "rtt=2h",
    "rtt=3600.1s",
    "rtt=0.5ns",
    "rtt=.5ms",
    "rtt=5.ms",
    "rtt=1e3ms",
    "rtt=00ms",
    "rtt=1 ms",
    "rtt=\uff11ms",
    "rtt=1µs",
    "rtt =1ms",
    "RTT=1ms",
    "rate=0",
    "rate=999bit",
    "rate=1tbit",
    "rate=1001gbit",
    "rate=0.0005mbit",
    "rate=1gbyte",
    "rate=1gbit/s",
    "rate=1Kbit",
    "rate=1\u212abit",
    "loss=100%",
    "loss=99.9999999%",
    "loss=99.99999999%",
    "loss=-1%",
    "loss=0.1",
    "loss=%",
    "loss=0%",
    "mtu=1279",
    "mtu=1280",
    "mtu=65535",
    "mtu=65536",
    "mtu=+1500",
    "mtu=001500",
    "mtu=1500.0",
    "up.mtu=1500",
    "up.rtt=1ms",
    "up.up.rate=1gbit",
    "side.rate=1gbit",
    ".rate=1gbit",
    "queue=1ms",
    "up.queue=1ms,down.rate=1gbit",
    "rtt=1ms,rtt=1ms",
    "rate=1gbit,up.rate=1gbit,up.rate=2gbit",
    "rtt=1ms,delay=1ms",
    "rtt=1ms,up.delay=1ms",
    "satellite,delay=1ms",
    "rtt=1ms\n",
    "rate=1gbit,queue=99999999999999999ms",
    "rate=" + "9" * 40 + "bit",
)

KEYS = st.sampled_from(["rtt", "delay", "rate", "queue", "loss", "mtu", "jitter"])
ENDS = st.sampled_from(["", "", "", "up.", "down.", "side."])
NUMBERS = st.from_regex(r"[0-9]{0,4}(\.[0-9]{0,3})?", fullmatch=True)
UNITS = st.sampled_from(["ms", "us", "s", "ns", "gbit", "mbit", "kbit", "Mbit", "bit", "%", ""])
PARTS = st.builds("{}{}={}{}".format, ENDS, KEYS, NUMBERS, UNITS) | st.sampled_from(["lan", "4g", "direct", ""])
TEXTS = st.lists(PARTS, min_size=1, max_size=4).map(",".join)


def read_by_engine(engine: Engine, spec: str) -> tuple[str, dict[str, Any]] | str:
    """Return the canonical text and the values; for a refused link, the message."""
    asked = subprocess.run([engine.path, "link", "--", spec], capture_output=True, text=True, check=False)
    if asked.returncode:
        assert (asked.returncode, asked.stdout) == (2, "")
        return asked.stderr
    text, values = asked.stdout.splitlines()
    return text, json.loads(values)


def read_here(spec: str) -> Link | str:
    try:
        return Link.parse(spec)
    except InvalidValue as error:
        return str(error)


def mistake(line: str) -> str:
    """Return the part of a refusal after the text itself; the two languages quote differently."""
    assert len(line.splitlines()) == 1
    return line.strip().replace('"', "'").split("': ", 1)[1]


def assert_same(engine: Engine, spec: str) -> None:
    read, link = read_by_engine(engine, spec), read_here(spec)
    if isinstance(link, str):
        assert isinstance(read, str), f"refused here only: {link}"
        assert mistake(read) == mistake(link)
        return
    assert not isinstance(read, str), read
    text, values = read
    assert text == str(link) == values["spec"]
    assert (values["mtu"], values["rtt_ns"]) == (link.mtu_bytes, link.round_trip_ns)
    for path, said in ((link.up, values["up"]), (link.down, values["down"])):
        assert LinkPath(**said) == path
        assert asdict(path) == said


def test_links_are_read_alike(engine: Engine) -> None:
    for spec in SPECS:
        assert_same(engine, spec)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_any_text_is_read_alike(engine: Engine, text: str) -> None:
    assert_same(engine, text)


def test_presets_are_the_same(engine: Engine) -> None:
    listed = subprocess.run([engine.path, "link", "--presets"], capture_output=True, text=True, check=True).stdout
    expected = [
        line
        for preset in LINK_PRESETS
        for line in (f"{preset.name}: {preset.about}", f"  {Link.parse(preset.name)}", f"  {preset.source}")
    ]
    assert listed.splitlines() == expected
