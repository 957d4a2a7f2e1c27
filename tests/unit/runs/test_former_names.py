"""The names that columns had in version 0.1: options accept them, JSON carries them, its schema marks them."""

import json

import pytest

from httpdyno.errors import UnknownName
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.judge import find_metric
from httpdyno.judge.comparison import parse_threshold
from httpdyno.model import FORMER_NAMES, Column, Direction, Metric, Table, current_name
from httpdyno.report.formats import render
from httpdyno.report.formats.json import json_schema
from httpdyno.runs.showing import check_columns, tables_of

DEFINITIONS = [definition_of(name) for name in experiment_names()]
RANKED = [
    pytest.param(definition, metric, id=f"{definition.name}-{metric.name}")
    for definition in DEFINITIONS
    for metric in definition.presentation.metrics
    if metric.name in FORMER_NAMES and metric.better is not Direction.NEITHER
]


def test_each_name_has_one_former_name_and_none_is_both() -> None:
    assert len(set(FORMER_NAMES.values())) == len(FORMER_NAMES)
    assert not set(FORMER_NAMES) & set(FORMER_NAMES.values())
    # A table's own column name takes precedence over an old name of another table.
    assert current_name("p50", {"p50", "p50_ms"}) == "p50"
    assert current_name("p50", {"p50_ms"}) == "p50_ms"
    assert current_name("rightPerSec", {"p50_ms"}) == "rightPerSec"


@pytest.mark.parametrize(("definition", "metric"), RANKED)
def test_a_metric_is_found_by_its_former_name(definition: Definition, metric: Metric) -> None:
    former = FORMER_NAMES[metric.name]
    if former in {other.name for other in definition.presentation.metrics}:
        pytest.skip(f"{former} is a metric of its own there")
    assert find_metric(definition.presentation.metrics, former) is metric
    assert parse_threshold(f"{former} > 5%", definition.presentation.metrics).metric.name == metric.name


@pytest.mark.parametrize("name", experiment_names())
def test_columns_are_chosen_by_their_former_names(name: str) -> None:
    definition = definition_of(name)
    columns = [column.name for column in definition.presentation.table(()).columns]
    former = [FORMER_NAMES[column] for column in columns if column in FORMER_NAMES]
    wanted = [column for column in columns if column in FORMER_NAMES]
    if not former:
        pytest.skip("no column of it had another name")
    check_columns(definition, ",".join(former))
    (table,) = tables_of(definition, (), {}, "table", ",".join(former))
    assert [column.name for column in table.columns] == wanted
    with pytest.raises(UnknownName):
        check_columns(definition, f"{former[0]}s")


@pytest.mark.parametrize("name", experiment_names())
def test_json_has_both_keys_and_the_schema_marks_the_former_one(name: str) -> None:
    columns = definition_of(name).presentation.table(()).columns
    table = Table(columns, (tuple(range(len(columns))),))
    (row,) = json.loads(render(table, "json"))
    properties = json_schema(columns, name)["items"]["properties"]
    assert set(row) == set(properties)
    names = {column.name for column in columns}
    for column in columns:
        assert row[column.name] == table.values(column.name)[0]
        assert "deprecated" not in properties[column.name]
        former = FORMER_NAMES.get(column.name)
        if former and former not in names:
            assert row[former] == row[column.name]
            assert properties[former]["deprecated"] is True
            assert properties[former]["description"] == f"now {column.name}"
            assert properties[former]["type"] == properties[column.name]["type"]


def test_a_current_column_is_never_replaced_by_the_former_name_of_another() -> None:
    table = Table((Column("p50_ms"), Column("p50")), ((1, 2),))
    (row,) = json.loads(render(table, "json"))
    assert (row["p50_ms"], row["p50"]) == (1, 2)
    assert "deprecated" not in json_schema(table.columns, "t")["items"]["properties"]["p50"]
