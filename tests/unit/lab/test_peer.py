"""A server subject as the peer of a trial: its command line, and its required answers."""

from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.lab.room import Command, RoomFile, RoomSpec
from httpdyno.lab.web_answers import PEER_URL, peer_expectations
from httpdyno.model import Condition, UrlSeries, Workload

FILES: dict[RoomFile, Path] = {
    "stdin": Path("/in"),
    "stdout": Path("/out"),
    "stderr": Path("/err"),
    "report": Path("/report"),
    "arrivals": Path("/arrivals"),
    "driver-output": Path("/driver"),
    "peer-output": Path("/out"),
}
CONDITION = Condition("latency", "plain", Workload(UrlSeries(f"{PEER_URL}/plain?n=", 3)), peer="flask-dev")


def test_the_room_starts_the_server_in_place_of_a_web() -> None:
    peer = Command(("python", "-m", "serve it"), Path("/peer"), {"B": "2", "A": "1 2"})
    argv = RoomSpec(Command(("./client",), Path("/build")), CONDITION, peer=peer).argv(Path("/engine"), FILES, 9)
    assert "--web" not in argv
    assert "--seed" not in argv
    assert " ".join(argv[2:14]) == (
        "--peer python -m 'serve it' --peer-port 8080 --peer-directory /peer --peer-output /out "
        "--peer-env A=1 2 --peer-env B=2"
    )


@pytest.mark.parametrize(("path", "length"), [("/plain", 13), ("/json", 16_384)])
def test_answers_of_a_server_are_those_of_its_contract(path: str, length: int) -> None:
    known = peer_expectations(UrlSeries(f"{PEER_URL}{path}?n=", 3))
    assert len(known) == 3
    assert known.distinct["url"].to_list() == [f"{PEER_URL}{path}?n={number}" for number in range(3)]
    assert set(known.distinct["status"]) == {200}
    assert set(known.distinct["length"]) == {length}
    assert (known.request == -1).all(), "no arrival is recorded"


@pytest.mark.parametrize("prefix", [f"{PEER_URL}/bytes/10?n=", "http://other.example:8080/plain?n="])
def test_a_url_with_an_unknown_answer_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidValue, match="answer there is unknown"):
        peer_expectations(UrlSeries(prefix, 2))
