"""Hosts of this machine in place of the real internet, a list of them, and clients."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.fetching_client import FETCHES
from doubles.loopback_site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def listed(tmp_path: Path, site: Site) -> str:
    """Write a list of ten pages of each of three hosts; return its name."""
    (tmp_path / "urls.txt").write_text("\n".join(site.urls(10)), encoding="utf-8")
    return "urls.txt"


@pytest.fixture
def clients(make_subject: MakeSubject, subject_folders: Path) -> tuple[str, ...]:
    make_subject("one", FETCHES)
    make_subject("two", FETCHES)
    return ("one", "two", "--subjects", str(subject_folders), "--web", "live")
