"""Limits of a load: what is read, what is refused, when one is passed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.experiments.load.judge import judge_load
from httpdyno.experiments.load.limit import limit_names, parse_load_limit
from httpdyno.model import Trial, Validity

REPORTS = Path(__file__).parents[3] / "fixtures" / "load-reports"
CLOSED = judge_load(0, json.loads((REPORTS / "closed.json").read_text()), target="http://a.example/")


def with_errors(errors: int) -> Trial:
    assert CLOSED.get(LoadSummary) is not None
    return CLOSED.having(replace(CLOSED[LoadSummary], errors=errors))


@pytest.mark.parametrize(
    ("text", "name", "operator", "value", "share"),
    [
        ("p99 > 50ms", "p99", ">", 50.0, False),
        ("p99.9>1s", "p99_9", ">", 1000.0, False),
        ("  p99_99 > 250us  ", "p99_99", ">", 0.25, False),
        ("errors > 0.1%", "errors", ">", 0.1, True),
        ("errors > 0", "errors", ">", 0.0, False),
        ("checks > 1 %", "checks", ">", 1.0, True),
        ("not_2xx < 100%", "not_2xx", "<", 100.0, True),
        ("rps < 1000", "rps", "<", 1000.0, False),
        ("service_p99 > 5ms", "service_p99", ">", 5.0, False),
        ("send_lag_p99 > 1ms", "send_lag_p99", ">", 1.0, False),
        ("max > 1m", "max", ">", 60_000.0, False),
        ("censored > 10", "censored", ">", 10.0, False),
    ],
)
def test_a_limit_is_read(text: str, name: str, operator: str, value: float, share: bool) -> None:
    limit = parse_load_limit(text)
    assert (limit.metric.name, limit.operator, limit.value, limit.share) == (name, operator, value, share)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not understood"),
        ("p99", "not understood"),
        ("p99 >", "not understood"),
        ("p99 >= 50ms", "not understood"),
        ("p99 = 50ms", "not understood"),
        ("> 50ms", "not understood"),
        ("p99 > 50", "needs its unit; write it like 50ms"),
        ("p99 > -5ms", "is negative"),
        ("p99 > 5%", "not understood"),
        ("p99 > 50 parsecs", "not understood"),
        ("p99 > 50ms and errors > 1", "not understood"),
        ("rps < 1e3", "is no number"),
        ("rps < 10%", "no share of the requests"),
        ("errors > -1", "is no number"),
        ("errors > 5ms", "is no number"),
        ("errors > %", "is no number"),
        ("errors > 200%", "is ever more than 100 %; write it like 'errors > 0.1%'"),
        ("errors > 100%", "is ever more than 100 %"),
        ("not_2xx < 100.5%", "is ever more than 100 %"),
    ],
)
def test_what_is_no_limit_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(InvalidValue, match=words) as refused:
        parse_load_limit(text)
    assert refused.value.line == str(refused.value)
    assert refused.value.line.startswith("--fail-if")


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'service_p99'"):
        parse_load_limit("servce_p99 > 5ms")


@given(st.text(max_size=40))
def test_any_text_is_a_limit_or_is_refused(text: str) -> None:
    try:
        limit = parse_load_limit(text)
    except (InvalidValue, UnknownName):
        return
    assert limit.value >= 0


@given(st.sampled_from(limit_names()), st.sampled_from("<>"), st.integers(0, 10**9))
def test_every_figure_can_be_limited(name: str, operator: str, value: int) -> None:
    try:
        limit = parse_load_limit(f"{name} {operator} {value}ms")
    except InvalidValue:
        limit = parse_load_limit(f"{name} {operator} {value}")
    found = limit.found([CLOSED])
    assert limit.value == value
    # Whatever it says of the trial, it says the opposite with the operator turned, or the two are equal.
    turned = parse_load_limit(limit.text.translate(str.maketrans("<>", "><")))
    if found is not None:
        assert limit.holds(found) is not turned.holds(found) or found == value


@pytest.mark.parametrize(
    ("text", "errors", "words"),
    [
        ("errors > 9", 10, "errors is 10, 11 % above 9"),
        ("errors > 10", 10, None),
        ("errors > 0.4%", 10, "errors is 0.498 %, 24 % above 0.4 %"),
        ("errors > 0.5%", 10, None),
        ("checks > 49%", 0, "checks is 50 %, 2 % above 49 %"),
        ("checks > 0", 0, "checks is 1000, above 0"),
        ("not_2xx > 50%", 0, None),
    ],
)
def test_a_limit_says_by_how_much_it_is_passed(text: str, errors: int, words: str | None) -> None:
    limit = parse_load_limit(text)
    found = limit.found([with_errors(errors)])
    assert found is not None
    assert limit.holds(found) is (words is not None)
    if words is not None:
        assert limit.words(found) == words


def test_several_trials_are_held_against_a_limit_by_their_median() -> None:
    trials = [with_errors(errors) for errors in (0, 2, 100)]
    assert parse_load_limit("errors > 1").found(trials) == 2


def test_rates_and_times_of_a_generator_at_its_end_are_not_the_servers() -> None:
    own = replace(with_errors(10), validity=Validity.GENERATOR_LIMITED)
    for text in ("p99 > 1us", "rps < 1000000", "service_p99 > 1us"):
        assert parse_load_limit(text).found([own]) is None
        assert parse_load_limit(text).found([own, with_errors(0)]) is not None
    assert parse_load_limit("errors > 9").found([own]) == 10


def test_what_was_not_measured_is_not_judged() -> None:
    assert parse_load_limit("tls_p99 > 1ms").found([CLOSED]) is None


@pytest.mark.parametrize("text", ["send_lag_p99 > 1ms", "unsent > 0"])
def test_only_an_open_loop_has_a_schedule(text: str) -> None:
    limit = parse_load_limit(text)
    limit.check_schedule(open_loop=True)
    with pytest.raises(InvalidValue, match="give a --rate"):
        limit.check_schedule(open_loop=False)
