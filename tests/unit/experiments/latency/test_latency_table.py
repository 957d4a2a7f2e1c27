"""The table of the cost of a call, and the blocks of the published figures."""

from typing import Any

from doubles.trials import trial
from httpdyno.experiments.latency.judge import Content, LatencyPoint, LatencyRun, LatencySummary
from httpdyno.experiments.latency.present import latency_table, latency_views, published_blocks
from httpdyno.model import Counters, Outcome, Trial, Validity
from httpdyno.model.counters import AgainstCounters
from httpdyno.published import find_preset

MS = 10**6
PLAIN, TWENTY = LatencyPoint(Content.PLAIN, 1), LatencyPoint(Content.PLAIN, 20)


def timed(subject: str, block: int, mean_ms: float, *, harness: bool = False, **changes: Any) -> Trial:
    point = changes.pop("latency_point", PLAIN)
    spread = (-0.06, 0.05, -0.04, 0.03, 0.02, -0.01, 0.01)
    runs = tuple(LatencyRun((mean_ms + one) * MS) for one in spread)
    own = {} if harness else {"p50_ns": round(mean_ms * MS), "call_ns": mean_ms * MS, "server_ns": 0.1 * mean_ms * MS}
    summary = LatencySummary(7 * 200, 200, runs, mean_ms * MS, 70_700.0, **own)
    fields: dict[str, Any] = {
        "experiment": "latency",
        "condition": f"{point}{', in its own process' if harness else ''}",
        "latency_point": point,
        "latency": summary,
        "harness": "timeit" if harness else "",
    }
    return trial(subject, block, **(fields | changes))


def column(trials: list[Trial], name: str) -> tuple[object, ...]:
    return latency_table(trials).values(name)


def test_both_modes_share_a_row() -> None:
    trials = [timed("a", 0, 1.19), timed("a", 1, 1.14, harness=True)]
    (text,) = column(trials, "per_loop")
    assert text == "1.19 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 200 loops each)"
    assert column(trials, "in_process") == ("1.14 ms ± 70.7 us per loop (mean ± std. dev. of 7 runs, 200 loops each)",)
    assert column(trials, "in_process_mean_ms") == (1.14,)
    assert column(trials, "mode") == ("lines",)
    (agree,) = column(trials, "agree")
    assert str(agree).startswith(("yes, 0.96x", "no, 0.96x"))
    assert column(trials, "server_share") == (10,)


def test_the_quickest_comes_first_at_each_point() -> None:
    trials = [
        timed(subject, block, mean, latency_point=point)
        for block in range(3)
        for point in (PLAIN, TWENTY)
        for subject, mean in (("slow", 2.0 + block / 50), ("quick", 1.0 + block / 50))
    ]
    assert column(trials, "subject") == ("quick", "slow", "quick", "slow")
    assert column(trials, "rank") == (1, 2, 1, 2)
    assert column(trials, "parallel") == (1, 1, 20, 20)


def test_a_client_with_harness_trials_only_has_their_figures() -> None:
    trials = [timed("a", 0, 1.0, harness=True)]
    assert column(trials, "mode") == ("harness",)
    assert column(trials, "mean") == (1.0,)
    assert column(trials, "in_process") == (None,)
    assert column(trials, "agree") == (None,)


def test_a_failed_client_keeps_a_row_with_the_reason() -> None:
    failed = timed("bad", 0, 1.0, latency=None, outcome=Outcome.CRASHED, reason="exited with 1", validity=None)
    table = latency_table([timed("a", 0, 1.0), failed])
    assert table.values("subject") == ("a", "bad")
    assert table.values("verdict") == ("VALID", "crashed")
    assert any("exited with 1" in note.text and note.row == 1 for note in table.notes)


def test_a_failure_in_process_is_a_remark() -> None:
    own = timed("a", 1, 1.0, harness=True, latency=None, outcome=Outcome.GARBAGE, reason="no line", validity=None)
    table = latency_table([timed("a", 0, 1.0), own])
    assert any("in its own process: garbage: no line" in note.text for note in table.notes)
    assert table.values("in_process") == (None,)


def test_people_get_a_table_for_each_point_with_its_filled_columns() -> None:
    views = latency_views([timed("a", 0, 1.0), timed("a", 1, 20.0, latency_point=TWENTY, keepalive=False)], {})
    assert [view.title.splitlines()[-1] for view in views] == [
        "Plain text, one at a time, keep-alive",
        "Plain text, 20 at once, no keep-alive",
    ]
    assert "p999" not in [column.name for column in views[0].columns], "nobody has one"
    assert all(len(view.rows) == 1 for view in views)


def test_an_empty_run_is_an_empty_table() -> None:
    assert latency_table([]).rows == ()
    assert len(latency_views([], {})) == 1


def test_unparsed_json_is_a_remark() -> None:
    point = LatencyPoint(Content.JSON, 1)
    table = latency_table(
        [timed("a", 0, 1.0, latency_point=point), timed("b", 0, 1.0, latency_point=point, check="json")]
    )
    (note,) = [note for note in table.notes if "does not parse JSON" in note.text]
    assert note.row is not None
    assert table.values("subject")[note.row] == "a"


def test_the_published_blocks_have_the_measured_figures() -> None:
    published = find_preset("published", "latency")
    trials = [timed("python-httpx", 0, 2.2), timed("python-httpx", 1, 2.1, harness=True)]
    plain, json, twenty = published_blocks(trials, published)
    assert plain.title == "*** Plain text ***"
    assert twenty.title == "*** Plain text, parallel 20 ***"
    assert (
        "httpx.AsyncClient",
        "2.1 ms ± 70.7 us, 200 loops",
        "2.2 ms ± 70.7 us, 200 loops",
        "2.01 ms ± 40.3 us; 2.01 ms ± 28.5 us",
    ) in plain.rows
    assert ("urllib in executor", None, None, "18.5 ms ± 465 us") in twenty.rows
    assert json.values("published")[0] == "1.2 ms ± 62.5 us; 1.22 ms ± 16.8 us"


def test_too_few_calls_have_a_remark_with_the_cure() -> None:
    table = latency_table([timed("a", 0, 1.0, latency=LatencySummary(0), counters=Counters(wall_ns=4 * 10**9))])
    assert any(
        "no time for seven warm runs: 10 calls in" in note.text and "--duration" in note.text for note in table.notes
    )
    assert table.values("per_loop") == (None,)


def test_a_clock_too_inexact_for_shares_is_a_remark() -> None:
    def result(bound_ns: int) -> bool:
        way = AgainstCounters(url="http://other:8080", clock_bound_ns=bound_ns)
        notes = latency_table([timed("a", 0, 1.0, counters=Counters(against=way))]).notes
        return any("the other machine's clock is known to 50 ms, a call takes 1 ms" in note.text for note in notes)

    assert result(50 * MS)
    assert not result(MS // 2)


def test_rows_without_a_figure_come_last() -> None:
    spoiled = {"validity": Validity.UNSTEADY, "validity_reason": "busy"}
    trials = [timed("a", 0, 1.0, latency=LatencySummary(0), **spoiled), timed("b", 0, 5.0, **spoiled)]
    assert column(trials, "subject") == ("b", "a")
