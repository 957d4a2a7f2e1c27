"""Trials in which the generator, and not the server, was the limit."""

from dataclasses import replace

import pytest

from doubles.honest_trial import HONEST, MS, S, judge_validity
from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.experiments.service.judge import SERVICE_RULES
from httpdyno.model import Validity


def test_a_load_generator_out_of_breath_is_the_generators_fault() -> None:
    busy = ServiceSummary(answers=100, errors=0, generator_cpu_ns=9 * S, generator_wall_ns=10 * S)
    validity, reason = judge_validity(HONEST.having(busy), SERVICE_RULES)
    assert validity is Validity.GENERATOR_LIMITED
    assert reason == "the load generator used 90 % of its CPU time; from 85 % on it limits the load"


def test_a_generator_that_spins_is_not_at_work() -> None:
    spinning = ServiceSummary(
        answers=100, errors=0, generator_cpu_ns=10 * S, generator_wall_ns=10 * S, generator_busy_share=0.2
    )
    assert judge_validity(HONEST.having(spinning), SERVICE_RULES) == (Validity.VALID, None)
    busy = replace(spinning, generator_busy_share=0.9)
    assert judge_validity(HONEST.having(busy), SERVICE_RULES)[0] is Validity.GENERATOR_LIMITED


@pytest.mark.parametrize(
    ("lag_ns", "overhead_ns", "validity"),
    [
        (600_000, 20 * MS, Validity.VALID),
        (3 * MS, 20 * MS, Validity.GENERATOR_LIMITED),
        # The lateness of a timer is not lag, however small the overhead is.
        (100_000, 100_000, Validity.VALID),
        (3 * MS, 0, Validity.VALID),
        (None, 20 * MS, Validity.VALID),
    ],
)
def test_a_generator_that_sends_late_measures_itself(lag_ns: int | None, overhead_ns: int, validity: Validity) -> None:
    late = ServiceSummary(answers=100, errors=0, send_lag_p99_ns=lag_ns, overhead_p99_ns=float(overhead_ns))
    assert judge_validity(HONEST.having(late), SERVICE_RULES)[0] is validity
