"""The ceiling of a web in a real run: found once, stored separately, and shown in table, report and query."""

from collections.abc import Iterable
from html import unescape
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.registry import definition_of
from httpdyno.judge.limit import ceiling_words
from httpdyno.model import CEILING_TRIAL, CeilingLimit, Purpose, Trial
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run


def limit_of(trials: Iterable[Trial]) -> CeilingLimit:
    """Return the limit of the ceiling of trials, which is the same for all of them."""
    (limit,) = {trial.ceiling_limit for trial in trials}
    assert limit is not None
    return limit


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def test_the_ceiling_is_requested_once_and_not_ranked(here: Command, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("".join(f"https://host{n}.test/plain\n" for n in range(20)), encoding="utf-8")
    ended = here("bench", "native", "--web", "plain", "--urls", "urls", "--repeat", "2", "--timeout", "60s")
    assert ended.code == 0, ended.err
    assert ended.err.count("the web's ceiling: native: 20 URLs") == 1
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    ceiling = run.ceiling()
    assert ceiling is not None
    assert (ceiling.trial, ceiling.purpose, ceiling.ceiling_per_s) == (CEILING_TRIAL, Purpose.CEILING, None)
    assert [trial.trial for trial in run.records()] == [0, 1]
    assert set(run.samples().collect()["trial"]) == {0, 1}
    for table, rows in (("ceilings", "1"), ("trials", "2")):
        counted = here("query", f"select count(*) as rows from {table}", "--format", "csv")
        assert counted.out.split() == ["rows", rows], counted.err
    # Such a short trial does not show the limit of the fetcher; on a slow machine it may last long enough.
    (row,) = here("report", folder.name, "--format", "json").rows
    (known,) = {trial.ceiling_per_s for trial in run.records()}
    page = repr(build_report(run, definition_of("bench")))
    assert "native, for the web's ceiling" in page
    if known is None:
        assert (row["ceiling_per_s"], row["ceiling_limit"]) == (None, None)
        assert "the web's ceiling is not known: " in page
    else:
        assert (row["ceiling_per_s"], row["ceiling_limit"]) == (round(known, 1), limit_of(run.records()))
        result = f"{ceiling_words(known, limit_of(run.records()))}; the fastest trial reached "
        assert result in ended.out
        assert result in page


@pytest.mark.measured
def test_the_ceiling_is_measured_once_and_not_ranked(httpdyno: Command, tmp_path: Path) -> None:
    # Enough URLs and delays for a trial that shows the limit of the fetcher.
    urls = "".join(f"https://host{number}.test/delay/500\n" for number in range(2400))
    (tmp_path / "urls").write_text(urls, encoding="utf-8")
    ended = httpdyno("bench", "native", "--web", "plain", "--urls", "urls", "--repeat", "2", "--format", "plain")
    assert ended.code == 0, ended.err
    assert ended.err.count("the web's ceiling: native: 2,400 URLs") == 1
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    ceiling = run.ceiling()
    assert ceiling is not None
    assert (ceiling.trial, ceiling.purpose, ceiling.concurrency) == (CEILING_TRIAL, Purpose.CEILING, 600)
    assert [(trial.trial, trial.concurrency) for trial in run.records()] == [(0, 200), (1, 200)]
    assert set(run.samples().collect()["trial"]) == {0, 1}
    assert ceiling.summary is not None
    assert {trial.ceiling_per_s for trial in run.records()} == {ceiling.summary.right_per_s}
    assert ceiling.ceiling_per_s is None, "it stands under none itself"
    result = ceiling_words(ceiling.summary.right_per_s or 0.0, limit_of(run.records()))
    assert f"\n{result}; the fastest trial reached " in ended.out
    page = unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert "native, for the web's ceiling" in page
    assert f"{result}; the fastest trial reached " in page
    (row,) = httpdyno("report", folder.name, "--format", "json").rows
    assert row["ceiling_per_s"] == round(ceiling.summary.right_per_s or 0.0, 1)
    assert row["ceiling_limit"] == limit_of(run.records())
