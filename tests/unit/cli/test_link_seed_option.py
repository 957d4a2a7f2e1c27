"""`--link-seed`: every verb that measures over a link takes it, and its run keeps it."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.store import open_run

VERBS = {
    "bench": ("--link", "loss=1%"),
    "tune": ("--link", "loss=1%"),
    "capacity": ("--loss", "1%"),
    "cost": ("--link", "loss=1%"),
    "latency": ("--link", "loss=1%"),
    "service": ("--link", "loss=1%"),
}


@pytest.mark.parametrize(("verb", "link"), VERBS.items())
def test_a_run_keeps_the_seed_of_its_link(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    verb: str,
    link: tuple[str, ...],
) -> None:
    # No subject can be measured: the requested settings are stored nevertheless.
    claims = "[capabilities]\n" + ('endpoints = ["workloads"]' if verb == "service" else 'check = ["json"]')
    folder = make_subject("needy", more=claims, needs='no-such-program = "*"')
    if verb == "service":
        description = folder / "subject.toml"
        description.write_text(description.read_text().replace('"client"', '"server"').replace("concurrency = 3\n", ""))
    ended = httpdyno(verb, "needy", "--subjects", str(subject_folders), *link, "--link-seed", "5")
    assert ended.code == 3, ended.err
    (made,) = (tmp_path / "runs").iterdir()
    assert open_run(made).manifest.settings["link_seed"] == 5
