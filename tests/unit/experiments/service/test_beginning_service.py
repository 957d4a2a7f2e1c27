"""Arguments of ``httpdyno service``: the experiment, and refusals in one line."""

import re
from collections.abc import Sequence

import pytest

from httpdyno.errors import HttpdynoError, InvalidValue
from httpdyno.experiments.service.options import ServiceOptions
from httpdyno.experiments.service.plan import (
    Service,
    choose_generator,
    choose_servers,
    make_service,
    merged_words,
    require_possible,
)
from httpdyno.subjects.catalogue import Catalogue, read_catalogue

CATALOGUE = read_catalogue()


def made(
    names: Sequence[str] | None = None, *, cpus: str | None = None, available: int = 2, **options: object
) -> Service:
    typed = ServiceOptions(**options)  # type: ignore[arg-type]
    choose_servers(CATALOGUE, names, typed)
    return make_service(typed, choose_generator(CATALOGUE, typed), cpus=cpus, available=available)


def test_the_default_is_all_servers_that_wait() -> None:
    names = [one.id for one in choose_servers(CATALOGUE, None, ServiceOptions())]
    assert {"flask-gunicorn", "rust-axum", "go-net-http-server", "node-http"} <= set(names)
    assert not {"nginx", "apache"} & set(names)
    assert made() == Service(repeat=3)
    assert {"nginx", "apache"} <= {one.id for one in choose_servers(CATALOGUE, None, ServiceOptions(endpoint="plain"))}


def test_axes_are_read() -> None:
    assert made(connections="20,100,...,260", loop="closed,open", threads="1,unlimited") == Service(
        connections="20,100,180,260", loop="closed,open", threads="1,unlimited", repeat=3
    )
    assert made(rate_per_s=40.0) == Service(loop="open", rate_per_s=40.0, repeat=3)
    assert made(endpoint="/json", threads="4", workers=2, timeout_ms=900) == Service(
        endpoint="json", threads="4", workers=2, timeout_ms=900, repeat=3
    )
    assert made(workloads_ms="10,20").workloads_ms == "10,20"
    assert made(quick=True).repeat == 1
    assert made(quick=True, repeat=4).repeat == 4


@pytest.mark.parametrize(
    ("typed", "available", "cpus"),
    [
        ("1,all", 4, "1,3"),
        ("all", 64, "63"),
        ("3,all", 4, "3"),
        ("1, 2", 4, "1,2"),
        ("all", 1, "1"),
        ("1", 1, "1"),
    ],
)
def test_cpus_of_the_server_are_read(typed: str, available: int, cpus: str) -> None:
    assert made(server_cpus=typed, available=available) == Service(server_cpus=cpus, repeat=3)
    assert made(cpus="1:0").server_cpus is None


@pytest.mark.parametrize(
    ("typed", "available", "words"),
    [
        ("1,all", 2, "--server-cpus 1,all: with the 2 CPUs, that is 1, measured once"),
        ("1,2,all", 3, "--server-cpus 1,2,all: with the 3 CPUs, that is 1, 2, measured once"),
        ("1,all", 4, None),
        ("all", 2, None),
        (None, 2, None),
    ],
)
def test_equal_numbers_of_server_cpus_are_reported(typed: str | None, available: int, words: str | None) -> None:
    cpus = made(server_cpus=typed, available=available).server_cpus
    assert merged_words(typed, cpus, available) == words


def test_a_search_begins_with_twenty_and_goes_far() -> None:
    search = made(search=True)
    assert (search.search, search.connections, search.most_connections) == (True, "20", 10_000)
    assert made(search=True, generator="oha").generator == "oha"
    assert made(search=True, most_connections=700, connections="50").most_connections == 700


@pytest.mark.parametrize(
    ("options", "open_files", "message"),
    [
        ({"search": True, "most_connections": 50_000}, 20_000, "--most-connections: 50,000 connections are more than"),
        ({"search": True, "most_connections": 60_000}, -1, "--most-connections: at most 50,000, not 60,000"),
        ({"connections": "20,19950"}, 20_000, "raise that (ulimit -Hn 20050, as root), or use fewer"),
    ],
)
def test_more_connections_than_can_be_open_are_refused_before_anything_runs(
    options: dict[str, object], open_files: int, message: str
) -> None:
    with pytest.raises(InvalidValue, match=re.escape(message)):
        require_possible(made(**options), open_files=open_files)


@pytest.mark.parametrize("open_files", [20_000, -1])
def test_the_most_connections_that_can_be_open_are_allowed(open_files: int) -> None:
    require_possible(made(search=True, most_connections=19_900), open_files=open_files)
    require_possible(made(connections="19900"), open_files=open_files)


def test_the_preset_has_its_servers_points_and_time() -> None:
    options = ServiceOptions(preset="published")
    assert [one.id for one in choose_servers(CATALOGUE, None, options)] == [
        "flask-gunicorn", "rust-axum", "rust-tide", "go-net-http-server", "rust-actix-web", "rust-warp",
    ]  # fmt: skip
    preset = make_service(options, None, cpus=None, available=2)
    assert (preset.send_s, preset.threads_of) == (30.0, "flask-gunicorn=10")
    assert (preset.connections, preset.threads) == (Service().connections, "1")
    # A first look is short.
    assert make_service(ServiceOptions(preset="published", quick=True), None, cpus=None, available=2).send_s is None


def test_another_generator_is_remembered_with_its_folder() -> None:
    options = ServiceOptions(generator="rewrk")
    generator = choose_generator(CATALOGUE, options)
    assert generator is not None
    service = make_service(options, generator, cpus=None, available=2)
    assert (service.generator, service.generator_folder) == ("rewrk", str(generator.folder))
    assert choose_generator(CATALOGUE, ServiceOptions(generator="httpdyno-load")) is None


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["go-net-http"], {}, "go-net-http is a client: service measures servers"),
        (["nginx"], {}, "nginx has no workloads, only plain or json; choose another --endpoint"),
        (["nosuch"], {}, "nosuch"),
        ([], {"generator": "wrk"}, "--generator wrk: it cannot send content"),
        (
            [],
            {"generator": "rewrk", "search": True},
            "--generator rewrk: it prints no p99, which a search requires; choose from: httpdyno-load, hey, oha",
        ),
        (["apache"], {"endpoint": "json", "workloads_ms": "5"}, "--workloads-ms: /json has no waits; leave out"),
        ([], {"generator": "node-http"}, "--generator node-http: it is a server; name a load tool"),
        ([], {"loop": "ajar"}, "--loop: 'ajar' is unknown; choose from: closed, open"),
        ([], {"threads": "many"}, "--threads: 'many' is not understood"),
        ([], {"threads": "0"}, "--threads: '0' is not understood"),
        ([], {"server_cpus": "some"}, "--server-cpus: 'some' is not understood"),
        ([], {"server_cpus": "1,"}, "--server-cpus: '' is not understood"),
        ([], {"server_cpus": "0"}, "--server-cpus: '0' is not understood"),
        ([], {"server_cpus": "4", "available": 4}, "4 are not available: of the 4 here the generator has one"),
        ([], {"server_cpus": "2", "available": 1}, "2 are not available: there is one here; write 1 or all"),
        ([], {"server_cpus": "all", "cpus": "1:0"}, "--cpus: --server-cpus chooses the CPUs of each point"),
        (
            [],
            {"preset": "published", "server_cpus": "1,2", "available": 4},
            "--server-cpus: --preset allows one number",
        ),
        *(
            ([], {"preset": "published", name: typed}, f"--{flag} conflicts with --preset, a published measurement")
            for name, flag, typed in (
                ("loop", "loop", "closed,open"),
                ("rate_per_s", "rate", 5.0),
                ("threads", "threads", "1,unlimited"),
                ("workers", "workers", 2),
                ("endpoint", "endpoint", "json"),
                ("workloads_ms", "workloads-ms", "50,100"),
                ("timeout_ms", "timeout-ms", 900),
            )
        ),
        ([], {"endpoint": "slow"}, "--endpoint: 'slow' is unknown"),
        ([], {"connections": "none"}, "--connections: 'none' is not a number of connections"),
        ([], {"connections": "20,100,...,300"}, "--connections: 20,100,...,300 never reaches 300"),
        ([], {"workloads_ms": "1;2"}, "--workloads-ms"),
        ([], {"preset": "nosuch"}, "--preset: service has no preset 'nosuch'; choose from: published"),
        ([], {"preset": "published", "search": True}, "--search: a preset has its own numbers"),
        ([], {"most_connections": 5}, "--most-connections requires --search"),
        ([], {"search": True, "most_connections": 0}, "--most-connections: 0 are fewer than the"),
        ([], {"search": True, "connections": "30000"}, "--most-connections: 10,000 are fewer than the 30,000"),
        ([], {"duration_s": 0.1}, "--duration: 0.1 s are too short"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(names: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(HttpdynoError) as caught:
        made(names, **options)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_server_the_error_names_the_remedy() -> None:
    with pytest.raises(HttpdynoError, match="there is no server with workloads here; name a folder"):
        choose_servers(Catalogue({}), None, ServiceOptions())


def test_the_default_generator_is_our_own() -> None:
    assert make_service(ServiceOptions(), None, cpus=None, available=2).generator == "httpdyno-load"
