"""The commands of a server's trial: the room, the drive, the generator, the server; and limits of a server."""

from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.experiments.service.figures import Endpoint, ServicePoint
from httpdyno.experiments.service.plan import Service
from httpdyno.experiments.service.server_trial import cannot_do, drive_argv, own_generator, read_samples
from httpdyno.judge.tool_reports.httpdyno_load import SAMPLE_COLUMNS
from httpdyno.lab.room import Command, Pinning, RoomFile, RoomSpec
from httpdyno.model import Capabilities, Condition, Subject, SubjectKind

ENGINE = Path("/e")
ALL = Capabilities(endpoints=("plain", "json", "workloads", "timeout"), threads="any", workers="one")
SERVER = Subject("axum", SubjectKind.SERVER, "Rust", "axum", Path(), ("x",), capabilities=ALL)
STATIC = replace(SERVER, capabilities=Capabilities(endpoints=("plain", "json")))


def condition(service: Service | None = None) -> tuple[Condition, ServicePoint]:
    (only,) = (service or Service(connections="20")).conditions()
    assert only.get(ServicePoint) is not None
    return only, only[ServicePoint]


def generator(service: Service) -> str:
    return " ".join(own_generator(ENGINE, *condition(service), report=Path("/r"), samples=Path("/s")))


def test_a_closed_loop_is_ramped_and_each_answer_checked() -> None:
    assert generator(Service(connections="20")) == (
        "/e load --connections 20 --duration 15s --timeout 17s --ramp 2s --check status=200 "
        '--check json=={"texts": ["httpdyno", "httpdyno", "httpdyno"]} --method GET '
        '--header Content-Type: application/json --body {"text": "httpdyno", "count": 1} '
        "--report /r --samples /s {server_url}/"
    )


def test_an_open_loop_has_its_rate_and_twice_the_connections() -> None:
    argv = generator(Service(connections="20", loop="open"))
    assert "--connections 41 " in argv
    assert "--rate 10 " in argv
    assert "--ramp" not in argv


@pytest.mark.parametrize(
    ("endpoint", "check"), [(Endpoint.PLAIN, "--check sha256=dffd"), (Endpoint.JSON, "--check json=/0/numbers=123123")]
)
def test_requests_without_waits_have_no_content(endpoint: Endpoint, check: str) -> None:
    argv = generator(Service(connections="20", endpoint=endpoint))
    assert check in argv
    assert "--body" not in argv
    assert argv.endswith("{server_url}/" + endpoint.value)


def test_everything_that_a_server_has_is_proved() -> None:
    _, point = condition(Service(connections="20", workloads_ms="10,20", timeout_ms=700))
    argv = " ".join(drive_argv(ENGINE, SERVER, point, report=Path("/r")))
    assert argv == (
        "/e drive --report /r --expect plain,json,workloads --workloads-ms 10,20 --timeout-ms 700 "
        "--every 250ms --patience 5s"
    )
    _, plain = condition(Service(connections="20", endpoint="plain"))
    assert "--expect plain,json --every" in " ".join(drive_argv(ENGINE, STATIC, plain, report=Path("/r")))


def test_the_room_of_a_server_has_no_web() -> None:
    asked, _ = condition(Service(connections="20", link="rtt=4ms", memory_bytes=1 << 30))
    files: dict[RoomFile, Path] = {
        "stdin": Path("/in"),
        "stdout": Path("/out"),
        "stderr": Path("/err"),
        "report": Path("/rep"),
        "arrivals": Path("/arrivals"),
        "driver-output": Path("/drv"),
        "peer-output": Path("/peer"),
    }
    command = Command(("./server", "x y"), Path("/f"), {"B": "2", "A": "1"})
    argv = RoomSpec(command, asked, Pinning("1", "0"), driver=("drive", "a b")).argv(ENGINE, files, 7)
    assert " ".join(argv) == (
        "/e room --driver drive 'a b' --driver-output /drv --ready-timeout 30s --deadline 117s --link rtt=4ms "
        "--link-seed 1 --subject-cpus 1 --engine-cpus 0 --memory 1073741824 --stdout /out --stderr /err --report /rep "
        "--progress 7 --clean-environment --env A=1 --env B=2 --directory /f -- ./server x y"
    )


def test_a_server_gets_the_last_cpus_and_the_generator_the_first() -> None:
    given = Pinning("1-3", "0")
    assert given.with_subject_on(None, {0, 1, 2, 3}) == given
    assert Pinning().with_subject_on(1, {0, 1, 2, 3}) == Pinning("3", "0")
    assert Pinning().with_subject_on(3, {4, 1, 7, 2}) == Pinning("2,4,7", "1")
    assert Pinning().with_subject_on(2, {0, 1}) == Pinning("0-1", "0")
    assert Pinning().or_shared({4, 1, 0}) == Pinning("0-1,4", "0-1,4")
    assert given.or_shared({0, 1, 2, 3}) == given
    with pytest.raises(InvalidValue, match="5 CPUs for the subject: 1 to 4 are available here"):
        Pinning().with_subject_on(5, range(4))


@pytest.mark.parametrize(
    ("server", "service", "why"),
    [
        (SERVER, Service(connections="1", threads="4"), None),
        (STATIC, Service(connections="1"), "it claims no endpoint 'workloads'; it has plain, json"),
        (
            STATIC,
            Service(connections="1", endpoint="json", threads="1"),
            "its framework has no setting for threads",
        ),
        (SERVER, Service(connections="1", workers=2), "it always runs with --workers 1"),
        (SERVER, Service(connections="1", workers=1), None),
        (
            STATIC,
            Service(connections="1", endpoint="json", timeout_ms=9),
            "it cannot abandon a request after a timeout",
        ),
    ],
)
def test_a_point_that_a_server_does_not_claim_is_refused(server: Subject, service: Service, why: str | None) -> None:
    found = cannot_do(server, condition(service)[1])
    assert (found is None) if why is None else (found or "").startswith(why)


def test_a_line_that_was_cut_is_no_sample(tmp_path: Path) -> None:
    file = tmp_path / "samples"
    heading = ",".join(SAMPLE_COLUMNS)
    row = "0,0,1,2,200,13,1,0"
    assert read_samples(None).is_empty()
    for end in range(len(row)):
        file.write_text(f"{heading}\n{row}\n{row[:end]}")
        read = read_samples(file)
        assert read.height in {1, 2}
        assert not read["status_or_error"].has_nulls()
