"""The emulated link against theory, with ping and iperf3 as witnesses."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from httpdyno.lab.engine import Engine

PEER: Final = "198.18.0.1"
PEER_V6: Final = "2001:2::1"
CHANCES: Final = 4
MORE: Final = 20
"""How often a busy machine may spoil a figure."""
TCP_HEADERS: Final = 52
"""IPv4 and TCP with timestamps."""
ROUND_TRIP: Final = re.compile(r"time=([\d.]+) ms")
ONE_WAY: Final = Path(__file__).parents[1] / "doubles" / "one_way.py"
CONTENT_PEER: Final = Path(__file__).parents[1] / "doubles" / "content_peer.py"


@dataclass(frozen=True, slots=True)
class Seen:
    """Result of a command in a room with a link."""

    out: str
    said: str
    link: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """Report of iperf3."""
        found: dict[str, Any] = json.loads(self.out)
        assert "error" not in found, found["error"]
        return found


Room = Callable[..., Seen]


@pytest.fixture
def room(engine: Engine, tmp_path: Path) -> Room:
    """Run a command in a room with a link, the check of which is another test's; skip where there are no links."""
    if next(fact for fact in engine.doctor() if fact.name == "tun").ok != "yes":
        pytest.skip("this user has no TUN devices here: httpdyno doctor says what to do")

    def run(link: str, *argv: str, peer: str = "sleep 600", seed: int = 1) -> Seen:
        report = tmp_path / "report.json"
        options = ["--link", link, "--link-check", "off", "--link-seed", str(seed), "--peer", peer]
        ended = subprocess.run(
            [engine.path, "room", *options, "--deadline", "300s", "--report", report, "--", *argv],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return Seen(ended.stdout, ended.stderr, json.loads(report.read_text())["link"])

    return run


def need(program: str, package: str) -> None:
    """Skip where a witness can only be installed by hand, fail where `make test` would have installed it."""
    if shutil.which(program):
        return
    cure = f"install it with: apt-get install -y --no-install-recommends {package}"
    if (os.geteuid() == 0 and shutil.which("apt-get")) or os.environ.get("CI"):
        pytest.fail(f"no {program}, though this machine can have it: {cure}")
    pytest.skip(f"no {program} on this machine; {cure}")


def iperf3(room: Room, link: str, *options: str, to: str = PEER) -> Seen:
    """Run iperf3 as the subject, with its server as the peer, which may take a moment to listen."""
    need("iperf3", "iperf3")
    client = " ".join(("iperf3", "-c", to, "-J", *options))
    again = f"for i in 1 2 3 4 5 6 7 8 9; do {client} > out && break; sleep 0.2; done; cat out"
    return room(link, "sh", "-c", f"cd $(mktemp -d) && {{ {again}; }}", peer="iperf3 -s")


def received(seen: Seen) -> float:
    """Return the rate of iperf3's receiver, in bits a second."""
    per_s: float = seen.report["end"]["sum_received"]["bits_per_second"]
    return per_s


def close_once(figures: Callable[[], float], expected: float, within: float) -> None:
    """Measure until the figure is right, a few times at the most."""
    found: list[float] = []
    while len(found) < CHANCES:
        found.append(figures())
        if abs(found[-1] / expected - 1) <= within:
            return
    pytest.fail(f"{found}, and {expected} was expected within {within:.0%}")


@pytest.mark.measured
@pytest.mark.parametrize(
    ("link", "asked_ms"), [("rtt=40ms", 40.0), ("up.delay=25ms,down.delay=5ms", 30.0), ("rtt=2ms,loss=0.1%", 2.0)]
)
def test_ping_says_the_round_trip_that_was_asked_for(room: Room, link: str, asked_ms: float) -> None:
    need("ping", "iputils-ping")
    medians = []
    for _ in range(CHANCES):
        seen = room(link, "ping", "-c", "30", "-i", "0.02", PEER)
        times = [float(found) for found in ROUND_TRIP.findall(seen.out)]
        assert len(times) >= 25, seen.out
        # ping shows three digits; no packet is ever early.
        assert min(times) >= asked_ms * 0.999
        medians.append(statistics.median(times))
        if medians[-1] <= asked_ms + 0.5:
            return
    pytest.fail(f"medians {medians} ms, asked {asked_ms} ms")


@pytest.mark.measured
def test_each_direction_has_its_own_delay(room: Room, tmp_path: Path) -> None:
    shortest = []
    for _ in range(CHANCES):
        seen = room(
            "up.delay=25ms,down.delay=5ms",
            *one_way("send", tmp_path / "ready", 40, 1),
            peer=" ".join(one_way("echo", tmp_path / "ready")),
        )
        up, down = (min(int(line.split()[way]) for line in seen.out.splitlines()) / 1e6 for way in (1, 2))
        assert up >= 25
        assert down >= 5
        shortest.append((up, down))
        if up <= 25.5 and down <= 5.5:
            return
    pytest.fail(f"{shortest} ms")


def one_way(*arguments: object) -> Sequence[str]:
    """Return the command of the program that sends datagrams to an echo server."""
    return [sys.executable, str(ONE_WAY), *(str(argument) for argument in arguments)]


@pytest.mark.measured
@pytest.mark.parametrize("options", [(), ("-R",)], ids=["up", "down"])
@pytest.mark.parametrize(
    ("link", "packet", "rate"),
    [
        ("rtt=10ms,rate=100mbit", 1500, 100e6),
        ("rtt=2ms,up.rate=20mbit,down.rate=20mbit,mtu=1280", 1280, 20e6),
        ("rtt=2ms,rate=400mbit", 1500, 400e6),
    ],
)
def test_tcp_gets_the_payload_of_the_rate(
    room: Room, link: str, packet: int, rate: float, options: tuple[str, ...]
) -> None:
    expected = rate * (packet - TCP_HEADERS) / packet
    close_once(lambda: received(iperf3(room, link, "-t", "2", "-O", "1", *options)), expected, within=0.05)


@pytest.mark.measured
def test_tcp_gets_the_payload_of_the_rate_over_ipv6(room: Room) -> None:
    expected = 50e6 * (1500 - TCP_HEADERS - 20) / 1500
    close_once(
        lambda: received(iperf3(room, "rtt=4ms,rate=50mbit", "-t", "2", "-O", "1", "-6", to=PEER_V6)),
        expected,
        within=0.05,
    )


@pytest.mark.measured
def test_a_connection_gets_its_window_each_round_trip(room: Room) -> None:
    def per_window(round_trip_ms: int) -> float:
        seen = iperf3(room, f"rtt={round_trip_ms}ms", "-t", "3", "-O", "1", "-w", "128K")
        # The receiver's window is the most that the sender may have in flight.
        windows = [interval["streams"][0]["snd_wnd"] for interval in seen.report["intervals"]]
        share: float = received(seen) / 8 * round_trip_ms / 1000 / statistics.median(windows)
        return share

    # Long, so that the response time of programs on a busy machine is small in comparison.
    for round_trip_ms in (60, 200):
        close_once(lambda at=round_trip_ms: per_window(at), 0.95, within=0.1)  # type: ignore[misc]


@pytest.mark.measured
def test_what_would_wait_longer_than_the_queue_is_dropped(room: Room) -> None:
    def goodput() -> float:
        seen = iperf3(room, "rate=10mbit,queue=50ms", "-u", "-b", "20M", "-l", "1000", "-t", "2")
        up = seen.link["up"]
        # Twice the rate was sent; the queue was full all the time, and never more than full.
        assert up["dropped"] > 0.4 * up["packets"]
        assert 49e6 < up["waited_max_ns"] <= 50e6
        # Some packets are those of the connection that controls the test.
        assert abs(seen.report["end"]["sum"]["lost_packets"] - up["dropped"]) <= 0.01 * up["packets"]
        carried: int = up["packets"] - up["dropped"]
        return carried * 1028 * 8 / 2

    # The queue empties after the two seconds: a fortieth more. A sender that stood still leaves a gap.
    close_once(goodput, 10e6, within=0.08)


@pytest.mark.measured
def test_loss_is_binomial_and_the_same_for_the_same_seed(room: Room, tmp_path: Path) -> None:
    def arrived(seed: int) -> tuple[Seen, frozenset[str]]:
        count = 20_000
        ready = tmp_path / "ready"
        peer = " ".join(one_way("echo", ready))
        seen = room("up.loss=1%", *one_way("send", ready, count, 0.05), peer=peer, seed=seed)
        # After the last of them the kernel may report that no socket listens for a late answer.
        assert count <= seen.link["up"]["packets"] <= count + MORE
        return seen, frozenset(line.split()[0] for line in seen.out.splitlines())

    first, of_first = arrived(1)
    lost = first.link["up"]["lost"]
    # 200 are expected, with a standard deviation of 14.07: five of them either way.
    assert 130 <= lost <= 270
    again, of_again = arrived(1)
    assert abs(again.link["up"]["lost"] - lost) <= MORE
    other, of_other = arrived(2)
    # A socket of a busy machine may miss some delivered packets; it never gets a lost one.
    both = of_first | of_again
    assert len(both) <= 20_000 - lost + MORE
    assert len(both) >= 20_000 - lost - 200
    # Another seed lets nearly all packets pass that one seed loses.
    assert len(of_other - both) > 0.5 * lost
    assert other.link["seed"] == 2


@pytest.mark.parametrize("host", [PEER, PEER_V6])
def test_content_passes_unharmed_where_super_packets_are_split(room: Room, host: str) -> None:
    size = 16 * 2**20
    program = [sys.executable, str(CONTENT_PEER)]
    seen = room("rtt=1ms,loss=0.3%", *program, "fetch", host, str(size), peer=" ".join([*program, "serve", str(size)]))
    assert seen.out.split() == [str(size), "same"]
    down = seen.link["down"]
    assert down["super_packets"] > 0
    # 12,000 segments at least: 36 are expected to be lost, with a standard deviation of 6.
    assert down["lost"] > 0
    assert "split" in seen.link["offload"]["why"]


@pytest.mark.measured
def test_super_packets_are_bounded_where_there_is_a_rate(room: Room) -> None:
    slow = iperf3(room, "rtt=2ms,rate=200mbit,loss=0.01%", "-t", "1").link
    assert slow["offload"]["longest_bytes"] is None
    assert slow["up"]["super_packets"] == 0
    assert slow["up"]["bytes"] / slow["up"]["packets"] <= 1500
    bounded = iperf3(room, "rtt=2ms,rate=1gbit", "-t", "1").link
    assert bounded["offload"]["longest_bytes"] == 12_500
    assert bounded["up"]["super_packets"] > 0
    assert bounded["up"]["bytes"] / bounded["up"]["packets"] <= 1500
    free = iperf3(room, "rtt=2ms", "-t", "1").link
    assert free["offload"]["longest_bytes"] == 65_536
    assert free["up"]["super_packets"] > 0
