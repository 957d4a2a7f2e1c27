"""Rows of ``fetch`` as Parquet."""

import json
from datetime import UTC, datetime
from pathlib import Path

import polars
import pytest
from polars.exceptions import PolarsError

from httpdyno.store import fetch_rows
from httpdyno.store.fetch_rows import convert, row_types

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "fetch-row.schema.json"
ROW = dict.fromkeys(row_types()) | {
    "url": "http://a.test/\ufffd",
    "status": 200,
    "start_time": "2026-11-22T01:38:19.061934Z",
    "duration_ms": 1,
    "chain": [{"url": "http://a.test/", "status": 301}],
}


def test_every_key_of_a_row_has_a_type() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))["properties"]
    assert list(row_types()) == list(schema)
    names = {polars.String: "string", polars.Float64: "number", polars.Int64: "integer", polars.Boolean: "boolean"}
    for key, kind in row_types().items():
        described = schema[key].get("type", "string")
        assert names.get(type(kind), "array") in ([described] if isinstance(described, str) else described), key


@pytest.mark.parametrize("count", [0, 1, 7])
def test_rows_of_any_number_are_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(fetch_rows, "BATCH_BYTES", 1_000)
    rows, file = tmp_path / "rows.parquet.jsonl", tmp_path / "rows.parquet"
    lines = [
        json.dumps(ROW | {"retries": number, "error": "Reset" if number == 6 else None}) for number in range(count)
    ]
    rows.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    convert(rows, file)
    table = polars.read_parquet(file)
    assert table.columns == list(row_types())
    assert table["retries"].to_list() == list(range(count))
    for row in table.rows(named=True):
        assert row["start_time"] == datetime(2026, 11, 22, 1, 38, 19, 61_934, tzinfo=UTC)
        assert (row["url"], row["chain"], row["status"]) == (ROW["url"], ROW["chain"], 200)
    assert {path.name for path in tmp_path.iterdir()} == {rows.name, file.name}


def test_a_file_of_no_rows_leaves_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(PolarsError):
        convert(tmp_path / "rows", tmp_path / "rows.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
