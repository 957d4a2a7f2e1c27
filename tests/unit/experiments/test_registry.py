"""The experiments by name, and their metrics."""

from dataclasses import replace

import pytest

from httpdyno.errors import UnknownName, UnreadableRun
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.judge import find_metric
from httpdyno.model import Direction, Trial


def test_every_name_leads_to_its_definition() -> None:
    assert experiment_names() == ("bench", "tune")
    assert [definition_of(name).name for name in experiment_names()] == list(experiment_names())


def test_an_experiment_of_another_version_is_refused_in_one_line() -> None:
    with pytest.raises(UnreadableRun, match="'capacities' is not known to this version of httpdyno; known are: bench"):
        definition_of("capacities")


def test_what_ranks_has_a_direction_and_what_identifies_is_a_field() -> None:
    for name in experiment_names():
        definition = definition_of(name)
        assert definition.ranking_metric.better is not Direction.NEITHER
        assert {column.name for column in definition.identity} <= set(Trial.__dataclass_fields__)
        assert definition.question.endswith("?")


def test_an_unknown_metric_is_refused_with_the_known_names() -> None:
    metrics = definition_of("bench").metrics
    assert find_metric(metrics, "p99").column.unit == "ms"
    with pytest.raises(UnknownName, match=r"no metric 'rightPerSecond'; did you mean 'rightPerSec'\? known are: total"):
        find_metric(metrics, "rightPerSecond")
    with pytest.raises(UnknownName, match=r"no metric ''; known are"):
        find_metric(metrics, "")


def test_a_definition_that_ranks_by_nothing_it_has_is_refused() -> None:
    with pytest.raises(UnknownName, match="no metric 'speed'"):
        replace(definition_of("bench"), ranked_by="speed")
