"""A URL list with lines that are not URLs: each is a row with an error's name, and the run is valid."""

from pathlib import Path

import polars as pl
import pytest

from conftest import MakeSubject
from doubles.asking_client import ASKS
from doubles.command_line import CORRECT, Command
from httpdyno.model import Outcome
from httpdyno.store import open_run

GOOD = {
    "https://a.example/plain": "https://a.example/plain",
    "b.example": "https://b.example",
    "c.example:443/plain": "https://c.example:443/plain",
    "  http://d.example/plain  ": "http://d.example/plain",
    "https://e.example/a,b?c=d,e": "https://e.example/a,b?c=d,e",
}
"""Lines that are URLs once `https://` is added to the bare ones, as the client receives them."""
BAD = {
    "exa mple.org": "exa mple.org",
    "https://exa mple.org/": "https://exa mple.org/",
    "https://a.example/a page": "https://a.example/a page",
    "https://a.example/?q=a page": "https://a.example/?q=a page",
    "two words": "two words",
    "ftp://x": "ftp://x",
    "gopher://a.example/": "gopher://a.example/",
    "https://": "https://",
    "http://": "http://",
    "https://:80/": "https://:80/",
    "https://a.example:99999/": "https://a.example:99999/",
    "https://a.example:port/": "https://a.example:port/",
    "a.example:99999": "https://a.example:99999",
    "https:///path": "https:///path",
    "//x": "https:////x",
    "https://[::1": "https://[::1",
    "[::1": "https://[::1",
}
"""Lines that are not URLs, and what the client receives: the same, with `https://` before possible bare domains."""
SKIPPED = ["", "   ", "# https://comment.example/"]


def interleaved() -> list[str]:
    """Mix them, so that no line after a bad one is lost."""
    lines: list[str] = []
    good = list(GOOD)
    for number, bad in enumerate(BAD):
        lines += [good[number % len(good)], bad, SKIPPED[number % len(SKIPPED)]]
    return lines


@pytest.fixture
def url_list(tmp_path: Path) -> str:
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in interleaved()), encoding="utf-8")
    return "list"


def test_every_invalid_line_is_a_row_with_an_error_name(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, url_list: str, tmp_path: Path
) -> None:
    make_subject("asks", ASKS)
    ended = httpdyno(
        "bench", "asks", "--subjects", str(subject_folders), "--web", "plain", "--urls", url_list,
        "--timeout", "60", "--format", "json", "--repeat", "1",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    (trial,) = run.records()
    assert trial.outcome is Outcome.OK, trial.reason
    assert trial.validity in CORRECT, trial.validity_reason
    samples = run.samples().with_columns(pl.col("verdict").cast(pl.String)).collect()
    assert samples.filter(pl.col("verdict") != "right").rows() == []
    errors = samples.filter(pl.col("status").is_null())
    assert sorted(errors["url"]) == sorted(BAD.values())
    assert errors["error"].str.len_chars().min() > 0
    assert set(errors["cause"]) == {"invalid_url"}
    answered = samples.filter(pl.col("status").is_not_null())
    assert set(answered["status"]) == {200}
    assert answered.height == len(BAD)
    assert set(answered["url"]) == set(GOOD.values())
    (row,) = ended.rows
    assert (row["totalUrls"], row["Exception"], row["wrong"]) == (2 * len(BAD), len(BAD), 0)
    assert row["verdict"] in CORRECT


def test_the_list_is_handed_on_in_its_order(httpdyno: Command, url_list: str) -> None:
    ended = httpdyno("urls", url_list)
    assert ended.code == 0, ended.err
    given = {**GOOD, **BAD}
    assert ended.out.splitlines() == [given[line] for line in interleaved() if line in given]
