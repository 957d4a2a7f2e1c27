"""The start of a cost question: its subjects, its documents, and conflicting options."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from httpdyno.errors import InvalidValue, UnknownName, UsageError
from httpdyno.experiments.cost.options import CostOptions
from httpdyno.experiments.cost.plan import Cost, choose_subjects, make_cost
from httpdyno.experiments.crawl.plan import HEADLINE
from httpdyno.lab.engine import Engine
from httpdyno.model import Subject, SubjectKind
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import Catalogue, read_catalogue

CATALOGUE = read_catalogue(())


class _Webs:
    """An engine that knows every web, with seed 7 by default."""

    def web(self, name: str, *, seed: int | None) -> WebIdentity:
        return WebIdentity(name, 7 if seed is None else seed, "digest")


ENGINE = cast(Engine, _Webs())


def made(changes: dict[str, Any], subjects: Sequence[Subject], peer: Subject | None = None) -> Cost:
    return make_cost(CostOptions(**changes), subjects, peer, ENGINE, lambda _: None)


def chosen(*names: str, preset: str | None = None) -> Sequence[Subject]:
    subjects, _ = choose_subjects(CATALOGUE, names, preset)
    return subjects


def test_default_subjects_are_the_usual_clients_and_two_tools() -> None:
    assert {subject.id for subject in chosen()} == {*HEADLINE, "ab", "httperf"}


def test_a_preset_has_its_own_subjects_those_that_can_be_had_no_more_included() -> None:
    ids = [subject.id for subject in chosen(preset="published")]
    assert len(ids) == len(set(ids)) == 13
    assert {"ruby-patron", "curl-process", "java-apache-httpclient5", "httperf"} <= set(ids)


@pytest.mark.parametrize(
    ("name", "message"),
    [("nginx", "nginx: is a server"), ("wrk", "wrk: cannot send a number of requests one after another")],
)
def test_unfit_subjects_are_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen("go-net-http", name)


def test_a_client_that_checks_nothing_is_refused_if_named_and_else_left_out_with_a_reason() -> None:
    unchecked = Subject("mine", SubjectKind.CLIENT, "X", "mine", Path("/x"), ("x",))
    catalogue = Catalogue({**CATALOGUE.subjects, "mine": unchecked}, {}, frozenset({"mine"}))
    with pytest.raises(UsageError, match="mine: does not check documents"):
        choose_subjects(catalogue, ["mine"], None)
    subjects, left_out = choose_subjects(catalogue, None, None)
    assert "mine" not in {subject.id for subject in subjects}
    assert "does not check documents" in left_out["mine"]


@pytest.mark.parametrize(
    ("changes", "preset", "documents"),
    [
        ({}, None, 10_000),
        ({"quick": True}, None, 2_000),
        ({"documents": 17, "quick": True}, None, 17),
        ({}, "published", 10_000),
        ({"scale": "1/10"}, "published", 1_000),
        ({"scale": "1/10", "quick": True}, "published", 1_000),
        ({"quick": True}, "published", 2_000),
        ({"documents": 17}, "published", 17),
    ],
)
def test_number_of_documents(changes: dict[str, Any], preset: str | None, documents: int) -> None:
    cost = made({"preset": preset, **changes}, chosen("go-net-http", preset=preset))
    assert cost.documents == documents
    assert (cost.seed, cost.web_digest) == (7, "digest")
    assert cost.scale == changes.get("scale")


@pytest.mark.parametrize(
    ("changes", "names", "error", "message"),
    [
        ({"scale": "1/10"}, ["native"], UsageError, "--scale requires --preset"),
        (
            {"scale": "1/10", "documents": 3, "preset": "published"},
            ["native"],
            UsageError,
            "--documents conflicts with --scale",
        ),
        ({"gzip": "on"}, ["ab"], UsageError, "ab does not support --keepalive on --gzip on"),
        ({"keepalive": "off"}, ["node-puppeteer"], UsageError, "node-puppeteer does not support"),
        (
            {"peer": "apache", "web": "top-sites"},
            ["native"],
            UsageError,
            "--web top-sites conflicts with --peer apache",
        ),
        ({"keepalive": "maybe"}, ["native"], InvalidValue, "--keepalive: 'maybe'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    changes: dict[str, Any], names: list[str], error: type[Exception], message: str
) -> None:
    peer = CATALOGUE.subjects[changes["peer"]] if "peer" in changes else None
    with pytest.raises(error, match=message):
        made(changes, chosen(*names, preset=changes.get("preset")), peer)


def test_a_server_that_plays_the_peer_is_kept_with_its_folder() -> None:
    apache = CATALOGUE.subjects["apache"]
    cost = made({}, chosen("native"), apache)
    assert (cost.peer, cost.peer_folder) == ("apache", str(apache.folder))


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="cost has no preset 'nosuch'; choose from: published"):
        chosen(preset="nosuch")
