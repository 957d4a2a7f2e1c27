"""Problems of nodes, each in one line with its cure."""

from dataclasses import replace
from typing import Any

import pytest

from httpdyno.cluster.node_check import NodeFacts, authentication_problem, is_loopback, node_names, node_problem

OWN = NodeFacts("here", "3.11.7", "/usr/bin/python3", "2.60.0", "1.2.0", "1.2.0", True, True, "abc")


def test_nodes_of_one_host_are_numbered() -> None:
    hosts = {"x": "lab", "y": "big", "z": "lab"}
    assert node_names(hosts) == {"x": "lab-1", "y": "big", "z": "lab-2"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"host": "there", "python": "3.11.9", "program": "/opt/python"}, None),
        (
            {"httpdyno": None, "engine": None},
            "node n: /usr/bin/python3 has no httpdyno; install it there with: pip install 'httpdyno[ray]==1.2.0'",
        ),
        (
            {"engine": None},
            "node n: httpdyno has no engine there; install it with: pip install httpdyno-engine==1.2.0",
        ),
        (
            {"httpdyno": "1.1.0"},
            "node n has httpdyno 1.1.0, this machine has 1.2.0; install the same version on all nodes",
        ),
        (
            {"engine": "1.1.0"},
            "node n has httpdyno-engine 1.1.0, this machine has 1.2.0; install the same version on all nodes",
        ),
        ({"ray": "2.61.0"}, "node n has Ray 2.61.0, this machine has 2.60.0; install the same version on all nodes"),
        ({"python": "3.12.1"}, "node n has Python 3.12, this machine has 3.11; install the same version on all nodes"),
        (
            {"has_folder": False},
            "node n: there is no folder /data; use a folder that all nodes share, or create it there",
        ),
        (
            {"list_sha256": None},
            "node n: /data/split.json is missing; use a folder that all nodes share, or copy the lists there",
        ),
        ({"list_sha256": "def"}, "node n: /data/split.json is of another list; copy the lists there again"),
    ],
)
def test_a_node_that_does_not_fit_is_named_with_the_cure(changes: dict[str, Any], expected: str | None) -> None:
    assert node_problem("n", replace(OWN, **changes), OWN, "/data", "/data/split.json") == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:6379", True),
        ("127.1.2.3:1", True),
        ("[::1]:6379", True),
        ("localhost:6379", True),
        ("10.0.0.5:6379", False),
        ("[fe80::1]:6379", False),
        ("head.example:6379", False),
    ],
)
def test_an_address_of_other_machines_needs_a_token_on_all_nodes(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected
    open_node = replace(OWN, needs_token=False)
    assert authentication_problem(address, [OWN, OWN]) is None
    problem = authentication_problem(address, [OWN, open_node])
    assert (problem is None) is expected
    assert problem is None or (address in problem and "RAY_AUTH_MODE=token" in problem)
