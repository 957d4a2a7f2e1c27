"""Defaults of a capacity question."""

from typing import Final

import pytest

from httpdyno.experiments.capacity.plan import choose_subjects, default_loop
from httpdyno.model import Loop
from httpdyno.subjects.catalogue import read_catalogue

CATALOGUE: Final = read_catalogue(())


@pytest.mark.parametrize(
    ("names", "loop"),
    [
        (["go-net-http"], Loop.OPEN),
        (["hey"], Loop.CLOSED),
        (["wrk", "hey"], Loop.CLOSED),
        (["httpdyno-load", "oha"], Loop.OPEN),
        (["go-net-http", "hey"], Loop.OPEN),
    ],
)
def test_tools_that_time_from_the_actual_send_default_to_a_closed_loop(names: list[str], loop: Loop) -> None:
    assert default_loop(choose_subjects(CATALOGUE, names, None)) is loop
