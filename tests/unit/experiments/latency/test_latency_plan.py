"""The latency question as an experiment: its points, its subjects, and its restoration."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue, UnreadableRun
from httpdyno.experiments.latency.judge import Content, LatencyPoint
from httpdyno.experiments.latency.plan import Latency, grid, parse_points, points_text
from httpdyno.experiments.latency.present import published_points
from httpdyno.experiments.restoring import restored
from httpdyno.model import MOST_URLS, Capabilities, Subject, SubjectKind, UrlSeries
from httpdyno.published import find_preset

POINTS = st.lists(st.builds(LatencyPoint, st.sampled_from(Content), st.integers(1, 1000)), min_size=1, unique=True)
ALL = Capabilities(keepalive=(True, False), check=("json",), harness=("timeit",))


def client(name: str, capabilities: Capabilities = ALL) -> Subject:
    return Subject(name, SubjectKind.CLIENT, "Python", name, Path(f"/{name}"), ("./run",), capabilities=capabilities)


def planned(experiment: Latency, *subjects: Subject) -> list[tuple[str, str]]:
    plan = experiment.plan(subjects)
    trials = plan.left([])
    assert [one.number for one in trials] == list(range(len(trials)))
    return [(one.subject.id, one.condition.name) for one in trials]


@given(POINTS)
def test_points_are_read_as_they_are_written(points: list[LatencyPoint]) -> None:
    assert list(parse_points(points_text(points))) == points


def test_a_grid_is_each_with_each() -> None:
    assert points_text(grid("plain, json", "1,20")) == "plain:1,json:1,plain:20,json:20"
    assert points_text(published_points(find_preset("published", "latency"))) == "plain:1,json:1,plain:20"


@pytest.mark.parametrize(
    ("workloads", "parallels", "option"),
    [
        ("html", "1", "--workload"),
        ("", "1", "--workload"),
        ("plain", "0", "--parallel"),
        ("plain", "1e3", "--parallel"),
    ],
)
def test_what_cannot_be_fetched_is_named(workloads: str, parallels: str, option: str) -> None:
    with pytest.raises(InvalidValue, match=option):
        grid(workloads, parallels)


def test_every_point_has_kept_and_new_connections_in_both_modes() -> None:
    found = planned(Latency(points="plain:1,json:20", repeat=2), client("a"), client("b"))
    assert len(found) == len(set(found)) * 2 == 2 * 2 * 2 * 2 * 2


def test_lines_come_in_batches_and_a_harness_gets_one_url() -> None:
    lines, harness = Latency(points="json:20", keepalive="on", duration_s=2).conditions()
    assert (lines.batch, lines.concurrency, lines.workload.harness) == (20, 20, "")
    assert isinstance(lines.workload.urls, UrlSeries)
    assert lines.workload.urls.count % 20 == 0
    assert isinstance(harness.workload.urls, UrlSeries)
    assert (harness.batch, harness.concurrency, harness.workload.urls.count) == (None, 20, 1)
    assert lines.workload.check == harness.workload.check == "json"
    assert lines.deadline_s == 2


def test_a_peer_server_has_its_own_name() -> None:
    (condition,) = Latency(points="plain:1", keepalive="on", mode="lines", peer="flask-dev").conditions()
    assert isinstance(condition.workload.urls, UrlSeries)
    assert condition.workload.urls.prefix == "http://peer.example:8080/plain?n="


def test_another_machines_origin_has_its_own_name() -> None:
    made = Latency(points="plain:1", keepalive="on", mode="lines", against="http://other:8080")
    (condition,) = made.conditions()
    assert isinstance(condition.workload.urls, UrlSeries)
    assert (condition.workload.urls.prefix, condition.batch) == ("http://other:8080/plain?n=", 1)
    assert condition.link_name == "against http://other:8080"
    assert restored(Latency, dict(made.settings()), made.webs()) == made


def test_a_client_skips_only_conditions_that_it_does_not_support() -> None:
    kept = client("kept", Capabilities(keepalive=(True,), check=("json",)))
    found = planned(Latency(points="plain:1", repeat=1), kept, client("able"))
    assert [name for subject, name in found if subject == "kept"] == ["plain, 1 at once, keep-alive"]
    assert len([1 for subject, _ in found if subject == "able"]) == 4
    with pytest.raises(InvalidValue, match="no subject supports"):
        planned(Latency(points="plain:1", mode="harness"), kept)


def test_a_client_that_does_not_parse_json_fetches_it_only() -> None:
    trials = Latency(points="json:1", mode="lines", keepalive="on", repeat=1).plan(
        [client("a", Capabilities()), client("b")]
    )
    checks = {one.subject.id: one.condition.workload.check for one in trials.left([])}
    assert checks == {"a": "", "b": "json"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"keepalive": "yes"},
        {"mode": "both?"},
        {"duration_s": 0.5},
        {"duration_s": 200.5},
        {"points": "plain"},
        {"link": "rtt=fast"},
        {"against": "http://other:8080", "link": "rtt=1ms"},
        {"against": "http://other:8080", "peer": "flask-dev"},
    ],
)
def test_what_no_trial_can_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        Latency(**({"points": "plain:1"} | wrong))


def test_the_longest_list_fits_into_memory() -> None:
    (longest,) = Latency(points="plain:1", keepalive="on", mode="lines", duration_s=200).conditions()
    assert isinstance(longest.workload.urls, UrlSeries)
    assert longest.workload.urls.count == MOST_URLS
    with pytest.raises(InvalidValue, match=r"--duration: 359996400 s are too long: .*; write 200s or less"):
        Latency(points="plain:1", duration_s=99999 * 3600)


def test_it_is_made_again_from_its_settings() -> None:
    made = Latency(
        points="plain:1,plain:20", mode="lines", peer="uvicorn", peer_folder="/u", repeat=3, seed=5, quick=True
    )
    again = restored(Latency, dict(made.settings()), made.webs())
    assert again == replace(made)
    with pytest.raises(UnreadableRun, match="link is missing"):
        restored(Latency, {}, made.webs())
