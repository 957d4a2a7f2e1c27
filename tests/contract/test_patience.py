"""Who is given more time: a client that went wrong for want of processor time, and no other."""

from dataclasses import dataclass

import pytest

from contract.patience import TIMEOUTS_S, tried_with_patience


@dataclass(frozen=True)
class Tried:
    timeout_s: float
    wrong: tuple[str, ...]
    starved: bool


@pytest.mark.parametrize(
    ("needs_s", "starved", "given_s"),
    [
        pytest.param(0.5, False, 1.0, id="right at once"),
        pytest.param(0.5, True, 1.0, id="right though others had its CPU"),
        pytest.param(1.5, True, 2.0, id="right as soon as it has the time"),
        pytest.param(60.0, True, max(TIMEOUTS_S), id="wrong however long it gets"),
        pytest.param(60.0, False, 1.0, id="wrong though it had its CPU"),
    ],
)
def test_more_time_is_for_who_had_no_cpu(needs_s: float, starved: bool, given_s: float) -> None:
    def crawl(timeout_s: float) -> Tried:
        return Tried(timeout_s, () if timeout_s > needs_s else ("https://large.test/",), starved)

    tried = tried_with_patience(crawl)
    assert tried.timeout_s == given_s
    assert bool(tried.wrong) == (needs_s > given_s)
