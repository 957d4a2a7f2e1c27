"""The options that a load records in its settings."""

import pytest

from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.load.present import option_note


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"target": "http://a/", "connections": 64, "until": None, "tls_min": None}, None),
        ({"no_delay": "off", "reconnect_after": "100"}, "options: --no-delay off --reconnect-after 100"),
        ({"expect_continue": "true", "form": "a=b\nc="}, "options: --expect-continue --form a=b --form c="),
        ({"find": "p99 < 50ms", "proxy": "http://a"}, "options: --find 'p99 < 50ms'"),
    ],
)
def test_other_options_are_noted_as_they_are_typed(settings: dict[str, Setting], expected: str | None) -> None:
    assert option_note(settings) == expected
