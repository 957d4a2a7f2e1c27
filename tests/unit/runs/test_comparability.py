"""Differences of two runs that can change their figures."""

from dataclasses import replace
from typing import Any

import pytest

from doubles.runs import MACHINE, WEB, manifest_of
from doubles.trials import trial, trials_of
from httpdyno.model import Outcome
from httpdyno.runs.comparison import run_differences
from httpdyno.store import EngineIdentity, Manifest, UrlList
from httpdyno.store.manifest import differences as all_differences

TRIALS = trials_of("go", [1.0, 2.0, 3.0]) + trials_of("rust", [1.0, 2.0, 3.0])
SYSCTLS = {"net.ipv4.tcp_rmem": "4096\t131072", "vm.swappiness": "60"}


def differences(a: dict[str, Any], b: dict[str, Any]) -> tuple[str, ...]:
    return run_differences(manifest_of(TRIALS, **a), manifest_of(TRIALS, **b), TRIALS, TRIALS)


def machines(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"machine": MACHINE}, {"machine": replace(MACHINE, **changes)}


def settings(a: dict[str, Any], b: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"settings": a}, {"settings": b}


def lists(a: UrlList | None, b: UrlList | None) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"urls": a}, {"urls": b}


def test_runs_of_the_same_kind_are_alike() -> None:
    assert differences({}, {}) == ()


@pytest.mark.parametrize(
    ("both", "said"),
    [
        (machines(kernel="6.12"), ("kernel: 6.1 in A, 6.12 in B",)),
        (machines(cpu="Another", cpus=4), ("cpu: A CPU in A, Another in B", "cpus: 2 in A, 4 in B")),
        (machines(governor="performance"), ("governor: not known in A, performance in B",)),
        (machines(clock_source="hpet"), ("clock source: not known in A, hpet in B",)),
        (machines(memory_bytes=16 * 2**30), ("memory: 8.0 GiB in A, 16.0 GiB in B",)),
        (machines(memory_bytes=None), ("memory: 8.0 GiB in A, not known in B",)),
        # A kernel keeps some megabytes for itself, not always the same.
        (machines(memory_bytes=8 * 2**30 - 2**22), ()),
        # A value that one of them did not record counts as equal.
        (machines(sysctls=SYSCTLS), ()),
        (({"webs": (WEB,)}, {"webs": (replace(WEB, seed=7, digest="e"),)}), ("seed of the web plain: 1 in A, 7 in B",)),
        (({"webs": (WEB,)}, {"webs": (replace(WEB, digest="e"),)}), ("the web plain has another model",)),
        (({"webs": (WEB,)}, {"webs": (replace(WEB, name="x", digest="e"),)}), ("web: plain in A, x in B",)),
        (({"webs": (WEB,)}, {"webs": (replace(WEB, name="./moved.toml"),)}), ()),
        (({"webs": (WEB,)}, {"webs": (replace(WEB, digest=None),)}), ()),
        (({"webs": (WEB,)}, {"webs": ()}), ("webs: plain in A, none in B",)),
        (lists(UrlList(None, 3, "a"), UrlList("list", 3, "a")), ()),
        (lists(UrlList(None, 3, "a"), UrlList(None, 3, "b")), ("the 3 URLs, or their order, differ",)),
        (lists(UrlList(None, 3000, "a"), UrlList(None, 2000, "b")), ("URLs: 3,000 in A, 2,000 in B",)),
        (lists(UrlList(None, 3, "a"), None), ()),
        (settings({"memory_bytes": None}, {"memory_bytes": 1}), ("memory bytes: unset in A, 1 in B",)),
        (settings({"subject_cpus": "1"}, {"subject_cpus": "2-3"}), ("subject cpus: 1 in A, 2-3 in B",)),
        (settings({"user_agent": ""}, {"user_agent": "x"}), ("user agent: unset in A, x in B",)),
        (settings({"repeat": 5, "quick": False, "preset": None}, {"repeat": 7, "quick": True, "preset": "x"}), ()),
        (settings({}, {"of_a_later_version": 1}), ()),
    ],
)
def test_what_moves_figures_is_named(both: tuple[dict[str, Any], dict[str, Any]], said: tuple[str, ...]) -> None:
    assert differences(*both) == said


def test_settings_of_the_kernel_are_compared_whatever_their_spaces() -> None:
    other = SYSCTLS | {"net.ipv4.tcp_rmem": "4096\t65536"}
    a, b = (manifest_of(TRIALS, machine=replace(MACHINE, sysctls=sysctls)) for sysctls in (SYSCTLS, other))
    assert run_differences(a, b, TRIALS, TRIALS) == ("net.ipv4.tcp_rmem: 4096 131072 in A, 4096 65536 in B",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"concurrency": 20}, ("concurrency: 10 in A, 20 in B",)),
        ({"timeout_ns": 2_500_000_000}, ("timeout: 1 s in A, 2.5 s in B",)),
        ({"urls_given": 3000}, ("URLs: 10 in A, 3,000 in B",)),
        ({"keepalive": False}, ("keepalive: True in A, False in B",)),
        ({"link": "rtt=40ms"}, ("link: direct in A, rtt=40ms in B",)),
        ({"http_version": "2"}, ("HTTP version: unset in A, 2 in B",)),
        ({"check": "json"}, ("check: unset in A, json in B",)),
        ({"version": "2", "block": 9, "outcome": Outcome.CRASHED}, ()),
    ],
)
def test_what_the_trials_were_given_is_compared(changes: dict[str, Any], said: tuple[str, ...]) -> None:
    other = [replace(one, **changes) for one in TRIALS]
    assert run_differences(manifest_of(TRIALS), manifest_of(other), TRIALS, other) == said


def test_a_difference_of_some_subjects_names_them() -> None:
    names = [f"s{number}" for number in range(6)]
    before = [trial(name, 0, 1.0) for name in names]
    after = [trial(name, 0, 1.0, concurrency=10 if name == "s0" else 20) for name in names]
    assert run_differences(manifest_of(before), manifest_of(after), before, after) == (
        "concurrency of s1, s2, s3 and 2 more: 10 in A, 20 in B",
    )


def test_subjects_of_one_run_only_are_no_difference() -> None:
    after = trials_of("node", [1.0], concurrency=99)
    assert run_differences(manifest_of(TRIALS), manifest_of(after), TRIALS, after) == ()


def test_lists_that_are_known_say_more_than_their_length() -> None:
    after = [replace(one, urls_given=20) for one in TRIALS]
    a = manifest_of(TRIALS, urls=UrlList("list", 10, "a"))
    b = manifest_of(after, urls=UrlList("list", 20, "b"))
    assert run_differences(a, b, TRIALS, after) == ("URLs: 10 in A, 20 in B",)


def instrument_differences(a: Manifest, b: Manifest) -> tuple[str, ...]:
    return tuple(change.side_by_side for change in all_differences(a, b) if change.part == "instrument")


def test_another_instrument_is_named() -> None:
    old, new = EngineIdentity("0.1.0", "a"), EngineIdentity("0.1.0", "b")
    assert instrument_differences(manifest_of([], engine=old), manifest_of([], engine=old)) == ()
    assert instrument_differences(manifest_of([]), manifest_of([], engine=old)) == ()
    assert instrument_differences(manifest_of([], engine=old), manifest_of([], engine=new, version="0.2.0")) == (
        "httpdyno: 0.1.0 in A, 0.2.0 in B",
        "the engine is another build",
    )
