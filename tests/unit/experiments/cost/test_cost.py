"""The cost question as an experiment: its grid, the subjects of each point, its settings."""

from pathlib import Path
from typing import Any

import pytest

from httpdyno.errors import InvalidValue, UnreadableRun
from httpdyno.experiments.cost.judge import Coding, CostPoint
from httpdyno.experiments.cost.plan import Cost
from httpdyno.experiments.registry import restore_experiment
from httpdyno.experiments.restoring import restored
from httpdyno.model import Capabilities, Condition, Subject, SubjectKind, UrlSeries


def client(name: str, *keepalive: bool) -> Subject:
    capabilities = Capabilities(keepalive=keepalive, check=("json",))
    return Subject(name, SubjectKind.CLIENT, "X", name, Path("/x"), ("x",), capabilities=capabilities)


BOTH, KEEPS, CLOSES, SILENT = client("both", True, False), client("keeps", True), client("closes", False), client("s")
TOOL = Subject(
    *("ab", SubjectKind.TOOL, "C", "ab", Path("/x"), ("ab",)),
    report_parser="ab",
    sequence_argv=("ab", "{requests}", "{url}"),
)


def urls(condition: Condition) -> UrlSeries:
    assert isinstance(condition.workload.urls, UrlSeries)
    return condition.workload.urls


def test_by_default_ten_thousand_documents_are_fetched_and_checked_one_after_another_on_kept_connections() -> None:
    (condition,) = Cost().conditions()
    assert condition.name == ""
    assert condition.concurrency == 1
    assert urls(condition) == UrlSeries("http://cost.example/json?coding=identity&n=", 10_000)
    assert (condition.workload.keepalive, condition.workload.check) == (True, "json")
    assert condition.receive_steering
    assert condition.get(CostPoint) is not None
    assert (condition[CostPoint].documents, condition[CostPoint].coding) == (10_000, Coding.IDENTITY)


def test_both_axes_make_four_points_with_names_of_their_own() -> None:
    conditions = Cost(keepalive="both", gzip="both").conditions()
    assert [condition.name for condition in conditions] == [
        "keep-alive, identity",
        "keep-alive, gzip",
        "no keep-alive, identity",
        "no keep-alive, gzip",
    ]
    assert [condition.workload.keepalive for condition in conditions] == [True, True, False, False]
    assert ["coding=gzip" in urls(condition).prefix for condition in conditions] == [False, True, False, True]


@pytest.mark.parametrize(("option", "name"), [("keepalive", "no keep-alive"), ("gzip", "gzip")])
def test_one_axis_names_what_it_varies(option: str, name: str) -> None:
    names = [condition.name for condition in Cost(**{option: "both"}).conditions()]  # type: ignore[arg-type]  # texts
    assert len(names) == 2
    assert name in names
    assert all("," not in one for one in names)


def test_a_peer_server_has_its_own_address() -> None:
    (condition,) = Cost(peer="apache").conditions()
    assert urls(condition).prefix == "http://peer.example:8080/json?n="
    assert condition.peer == "apache"


def test_another_machines_origin_uses_its_own_network() -> None:
    plain, zipped = Cost(against="http://other:8080", gzip="both").conditions()
    assert urls(plain).prefix == "http://other:8080/json?coding=identity&n="
    assert urls(zipped).prefix == "http://other:8080/json?coding=gzip&n="
    assert plain.link_name == "against http://other:8080"
    assert not plain.receive_steering, "the engine steers packets of its own networks only"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peer": "apache", "against": "http://other:8080"}, "--peer apache: --against names another peer"),
        ({"link": "rtt=1ms", "against": "http://other:8080"}, "--link: the path to http://other:8080 is real"),
        ({"keepalive": "yes"}, "--keepalive: 'yes' is not supported; write on, off or both"),
        ({"gzip": "1"}, "--gzip: '1' is not supported"),
        ({"peer": "apache", "gzip": "both"}, "--gzip both conflicts with --peer apache"),
        ({"documents": 0}, "0"),
        ({"timeout_s": 0}, "timeout"),
    ],
)
def test_what_no_trial_can_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Cost(**changes)


@pytest.mark.parametrize(
    ("subject", "where"),
    [
        (BOTH, [True, True, True, True]),
        (KEEPS, [True, True, False, False]),
        # It has no session: it is measured without one.
        (CLOSES, [True, True, True, True]),
        (SILENT, [True, True, True, True]),
        (TOOL, [True, False, False, False]),
    ],
)
def test_a_subject_runs_under_the_conditions_that_it_supports(subject: Subject, where: list[bool]) -> None:
    conditions = Cost(keepalive="both", gzip="both").conditions()
    assert [Cost.able_to(subject, condition) for condition in conditions] == where


def test_the_plan_has_whole_numbers_for_those_that_take_part() -> None:
    plan = Cost(keepalive="both", gzip="both", repeat=3).plan((BOTH, KEEPS, TOOL))
    assert plan.most == 3 * (4 + 2 + 1)
    assert [one.number for one in plan.trials] == list(range(plan.most))
    for block in {one.block for one in plan.trials}:
        within = [one for one in plan.trials if one.block == block]
        assert [one.position for one in within] == list(range(len(within)))
        assert len({one.condition.name for one in within}) == 1


def test_a_plan_without_able_subjects_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no subject supports these settings"):
        Cost(keepalive="off").plan((KEEPS,))


@pytest.mark.parametrize(
    "cost",
    [
        Cost(),
        Cost(documents=5, keepalive="both", gzip="on", link="rtt=1ms", seed=7, web_digest="d", repeat=2, quick=True),
        Cost(against="http://other:8080"),
        Cost(peer="apache", peer_folder="/x", preset="published", scale="1/10", memory_bytes=2**30),
    ],
)
def test_it_is_made_again_from_its_settings(cost: Cost) -> None:
    assert restored(Cost, cost.settings(), cost.webs()) == cost
    assert restore_experiment("cost", cost.settings(), cost.webs(), None) == cost


@pytest.mark.parametrize("change", [{"documents": "many"}, {"keepalive": 3}, {"link": None}])
def test_damaged_settings_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRun, match="the settings of the run are damaged"):
        restored(Cost, {**Cost().settings(), **change}, Cost().webs())


def test_a_missing_setting_is_named() -> None:
    settings = {name: value for name, value in Cost().settings().items() if name != "gzip"}
    with pytest.raises(UnreadableRun, match="gzip is missing"):
        restored(Cost, settings, Cost().webs())
