"""The parts of `scripts/endure` that decide: trends, plans, histograms."""

import base64
import re
import struct
import zlib
from itertools import takewhile
from pathlib import Path

import pytest

from doubles.command_line import all_commands
from endurance.interval_log import COMPRESSED, HEADER, PLAIN, intervals
from endurance.kills import plan
from endurance.soak import trend
from endurance.verbs import VERBS, Verb
from endurance.victims import PARTS
from guide_pages import options_of_engine
from pages.command_line import ENGINE_VERBS


@pytest.mark.parametrize(
    ("values", "tolerated", "verdict"),
    [
        ([100.0] * 10, 1.0, "flat"),
        ([100.0 + 0.1 * minute for minute in range(10)], 1.0, "flat"),
        ([100.0 + 2 * minute for minute in range(10)], 1.0, "NOT FLAT"),
        ([100.0 + 2 * minute for minute in range(10)], 20.0, "flat"),
        ([90.0, 110.0, 95.0], 1.0, "undecided"),
    ],
)
def test_a_trend_is_judged_by_its_interval(values: list[float], tolerated: float, verdict: str) -> None:
    assert trend(values).verdict(tolerated) == verdict


def test_the_drift_is_the_median_of_all_slopes() -> None:
    found = trend([1.0, 3.0, 2.0, 5.0, 4.0])
    # Sorted: -1, -1, 1/3, 1/2, 3/4, 1, 1, 4/3, 2, 3.
    assert (found.middle, found.drift) == (3.0, pytest.approx(4 * 0.875))
    assert found.low < found.drift < found.high


def test_minutes_that_were_disturbed_hide_no_trend_and_make_none() -> None:
    quiet, rising = [30.0] * 120, [30.0 + 0.1 * minute for minute in range(120)]
    for values in (quiet, rising):
        values[6:10] = [1e7] * 4
    assert trend(quiet).verdict(2.0) == "flat"
    assert trend(rising).verdict(2.0) == "NOT FLAT"


def test_a_seed_decides_who_is_killed_when_and_every_part_of_every_verb_has_its_turn() -> None:
    count = len(PARTS) * len(VERBS)
    attempts = plan(count, 7, VERBS)
    assert attempts == plan(count, 7, VERBS)
    assert attempts != plan(count, 8, VERBS)
    for part in PARTS:
        killed = [attempt.verb.name for attempt in attempts if attempt.part == part]
        assert len(killed) == len(VERBS)
        played = {verb.name for verb in VERBS if part in verb.parts}
        assert set(killed[: len(played)]) == played


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: " ".join(verb.argv))
def test_each_verb_that_is_killed_can_be_typed(verb: Verb, tmp_path: Path) -> None:
    known = all_commands()
    if (name := verb.name.removesuffix(" live")) in known:
        arguments = [re.sub(r"\{\w+\}", str(tmp_path), word) for word in verb.argv[len(name.split()) :]]
        known[name].make_context(name, arguments)
    else:
        assert name in ENGINE_VERBS
        options = {word for word in takewhile("--".__ne__, verb.argv) if word.startswith("--")}
        assert options <= options_of_engine(name)


def test_histograms_of_a_log_are_read(tmp_path: Path) -> None:
    # Three at 5 ns, a gap, one in the second bucket: index 2048 + 76 is (1024 + 76) << 1.
    counts = zigzag(-5) + zigzag(3) + zigzag(-(2124 - 6)) + zigzag(1)
    plain = HEADER.pack(PLAIN | 0x10, len(counts), 0, 3, 1, 1 << 40, 1.0) + counts
    packed = zlib.compress(plain)
    text = base64.b64encode(struct.pack(">Ii", COMPRESSED | 0x10, len(packed)) + packed).decode()
    log = tmp_path / "log"
    log.write_text(f'#[StartTime: 1]\n"StartTimestamp"\n61.5,1.0,0.0,{text}\nTag=service,61.5,1.0,0.0,{text}\n')
    (interval,) = intervals(log)
    assert (interval.start_s, interval.counts) == (61.5, {5: 3, 2200: 1})


def zigzag(number: int) -> bytes:
    left, coded = (number << 1) ^ (number >> 63), b""
    while left >= 0x80:
        coded += bytes([left & 0x7F | 0x80])
        left >>= 7
    return coded + bytes([left])
