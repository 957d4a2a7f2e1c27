"""The experiments by name, and their metrics."""

import ast
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import httpdyno
from doubles.trials import changed, trial
from httpdyno.errors import UnknownName, UnreadableRun
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.cost.judge import CostSummary
from httpdyno.experiments.definition import Judging, Planning, Presentation
from httpdyno.experiments.latency.judge import LatencySummary
from httpdyno.experiments.registry import definition_of, experiment_names, figure_columns, figure_records
from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.judge import find_metric
from httpdyno.judge.validity import EVERYTHING, RULES
from httpdyno.model import Addresses, Cases, Direction, Labels, LinesSummary, Trial, figure_fields


def test_every_name_leads_to_its_definition() -> None:
    assert experiment_names() == ("bench", "tune", "load", "capacity", "cost", "latency", "service", "conformance")
    assert [definition_of(name).name for name in experiment_names()] == list(experiment_names())


def test_a_rule_spoils_what_its_name_says_or_every_figure() -> None:
    # A stored trial has the names of the rules that it breaks, and no more.
    usual = {rule.name: rule.spoils for rule in RULES}
    for name in experiment_names():
        for rule in definition_of(name).judging.rules:
            assert rule.spoils == usual.get(rule.name, EVERYTHING), f"{name}: {rule.name}"


def test_an_experiment_of_another_version_is_refused_in_one_line() -> None:
    with pytest.raises(UnreadableRun, match="'capacities' is unknown to this version of httpdyno; known: bench"):
        definition_of("capacities")


def test_what_ranks_has_a_direction_and_what_identifies_is_a_field() -> None:
    for name in experiment_names():
        definition = definition_of(name)
        if definition.presentation.ranked_by is not None:
            assert definition.presentation.ranking_metric.better is not Direction.NEITHER
        assert {column.name for column in definition.presentation.identity} <= set(Trial.__dataclass_fields__)
        assert definition.question.endswith("?")


def test_an_unknown_metric_is_refused_with_the_known_names() -> None:
    metrics = definition_of("bench").presentation.metrics
    assert find_metric(metrics, "p99").column.unit == "ms"
    with pytest.raises(UnknownName, match=r"no metric 'right_per_second'; did you mean 'right_per_s'\?$"):
        find_metric(metrics, "right_per_second")
    with pytest.raises(UnknownName, match=r"no metric ''; choose from"):
        find_metric(metrics, "")


def test_a_definition_that_ranks_by_nothing_it_has_is_refused() -> None:
    with pytest.raises(UnknownName, match="no metric 'speed'"):
        replace(definition_of("bench").presentation, ranked_by="speed")


def test_an_experiment_tells_of_a_trial_what_it_found_there_and_nothing_of_none() -> None:
    found: dict[str, tuple[dict[str, Any], str]] = {
        "capacity": (
            {"capacity": CapacitySummary(9, 0, 10**9, per_s=2000.4, response_p99_ns=12_300_000, held=True)},
            "held: 2,000 a second, p99 12.3 ms",
        ),
        "latency": ({"latency": LatencySummary(1400, mean_ns=1_190_000.0)}, "1.19 ms a loop"),
        "service": (
            {"service": ServiceSummary(80, 0, p99_ns=2_010_000_000.0, held=False, why_not="late")},
            "not held: late",
        ),
        "cost": ({"cost": CostSummary(10, cpu_per_document_ns=870_000.0)}, "10 documents, 870 us of CPU time each"),
    }
    for name in experiment_names():
        result = definition_of(name).presentation.trial_result
        assert (result is not None) is (name in found)
        if result is not None:
            figures, words = found[name]
            assert result(trial("a", 0)) is None
            assert str(result(changed(trial("a", 0), **figures))).startswith(words)


def test_rules_hold_where_they_apply() -> None:
    def names(experiment: str) -> set[str]:
        return {rule.name for rule in definition_of(experiment).judging.rules}

    def limited(rules: set[str]) -> set[str]:
        return {name for name in rules if name.startswith(("origin_", "generator_", "link_"))}

    origin = {"origin_cpu", "origin_waiting", "origin_cpu_busy", "origin_lateness"}
    emulated = {"link_lateness", "link_unread"}
    assert limited(names("bench")) == {*origin, "link_rate", *emulated}
    assert limited(names("capacity")) == {*origin, *emulated}
    assert limited(names("service")) == {"generator_cpu", "generator_late", "link_rate", *emulated}
    assert "drift" not in names("cost")


@pytest.mark.parametrize("package", ["model", "stats", "store", "judge", "report", "runs", "lab", "urls"])
def test_what_serves_any_experiment_names_none(package: str) -> None:
    # Trials of any experiment can have lines, cases, labels and addresses.
    shared = (LinesSummary, Cases, Labels, Addresses)
    records = {kind.__name__ for kind in figure_records()} - {kind.__name__ for kind in shared}
    figures = set(figure_columns()) - {field.name for kind in shared for field in figure_fields(kind)}
    for file in (Path(httpdyno.__file__).parent / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = {ast.Name: "id", ast.Attribute: "attr", ast.Constant: "value"}.get(type(node), "_fields")
            word = getattr(node, named)
            assert word not in {*records, *figures}, f"{file}:{node.lineno} names {word}"
            # The report of our generator has service times.
            if isinstance(node, ast.Constant) and word != "service":
                assert word not in experiment_names(), f"{file}:{node.lineno} names {word}"


@pytest.mark.parametrize("kind", [Planning, Judging, Presentation])
def test_every_field_of_an_experiment_is_used_by_more_than_one(kind: type) -> None:
    # What one experiment needs is a method of a subclass.
    part = kind.__name__.lower()
    values = [getattr(definition_of(name), part) for name in experiment_names()]
    usual = kind(metrics=()) if kind is Presentation else kind()
    for field in fields(kind):
        own = [value for value in values if getattr(value, field.name) != getattr(usual, field.name)]
        assert len(own) > 1, field.name
