"""Each measurement that a page, a help, a script or the endurance tests name is accepted, up to its first trial.

Refusals change with the verbs, and most of these lines are run rarely: they would become stale unseen.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.exceptions import Exit

from doubles.command_line import Command
from doubles.in_process import in_process
from endurance.verbs import CLIENT, SERVER, VERBS, write_subjects
from guide_pages import all_pages, typed_commands, up_to_the_shells
from httpdyno.cli.app import app
from httpdyno.experiments.experiment import Experiment
from httpdyno.experiments.registry import verb_names
from httpdyno.model import Subject
from pages.command_line import all_commands

MEASURING = {*verb_names()} | {"try", "verify-generator"}
"""A load goes to the named server, and has tests of its own."""
READERS = {"A": "go-net-http", "B": "rust-reqwest", "OLD": "go-net-http", "NEW": "rust-reqwest"} | dict.fromkeys(
    ("CLIENT", "SUBJECT"), "go-net-http"
)
"""What a reader would name there."""
NOT_HERE = {"--resume", "--against", "auto", "--tool"}
"""They depend on an earlier run, on another machine, or on installed programs."""
CHECK_WHEEL = Path(__file__).parents[2] / "scripts" / "check-wheel"


def named() -> Iterator[Sequence[str]]:
    """Return the words after `httpdyno` of each such line."""
    for page in all_pages():
        yield from typed_commands(page)
    commands = [app, *(command for _, command in all_commands())]
    examples = "\n".join(line for command in commands for line, _ in command.examples)
    for line in re.findall(r"\bhttpdyno (.*)", f"{examples}\n{CHECK_WHEEL.read_text(encoding='utf-8')}"):
        if line.split()[0] in MEASURING:
            yield up_to_the_shells(shlex.split(line))
    yield from (verb.argv for verb in VERBS)


def typed() -> list[tuple[str, ...]]:
    """Return each measurement once, as typed."""
    lines = (tuple(READERS.get(word, word) for word in words) for words in named() if words[0] in MEASURING)
    return sorted({words for words in lines if not NOT_HERE & set(words) and "..." not in words})


@pytest.fixture
def httpdyno(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in a folder with the lists and the subjects that the lines name, on a machine that has enough."""
    list_of_urls = "".join(f"https://site-{number}.example/\n" for number in range(20_000))
    for name in ("urls", "urls.txt", "mine.txt", "pages.txt", "domains.txt"):
        (tmp_path / name).write_text(list_of_urls, encoding="utf-8")
    write_subjects(tmp_path / "of-endurance")
    clients = dict.fromkeys(("my-client", "benchmark", "subjects/mine", "subjects/released"), CLIENT)
    for folder, definition in {**clients, "my-server": SERVER}.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "main.py").touch()
        (tmp_path / folder / "subject.toml").write_text(definition.replace("{name}", folder), encoding="utf-8")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr("httpdyno.experiments.service.plan.getrlimit", lambda _: (-1, -1))
    return in_process(environment, tmp_path, monkeypatch, capfd)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Plan runs, and begin none: return the numbers of their trials."""
    numbers: list[int] = []

    def plan(experiment: Experiment, subjects: Sequence[Subject], *_: object, **__: object) -> None:
        numbers.append(experiment.plan(subjects).most)
        raise Exit

    def verify(generators: Sequence[object], cases: Sequence[object]) -> None:
        numbers.append(len(generators) * len(cases))
        raise Exit

    monkeypatch.setattr("httpdyno.cli.running.begin_run", plan)
    monkeypatch.setattr("httpdyno.experiments.verify_generator.run.steps", verify)
    monkeypatch.setattr("httpdyno.experiments.crawl.plan._is_piped", lambda: False)
    # Every question is answered with yes, and measurements and downloads before a run are skipped.
    monkeypatch.setattr("httpdyno.cli.running.ask", lambda *_, **__: None)
    monkeypatch.setattr("httpdyno.cli.running.install_needs", lambda *_, **__: None)
    monkeypatch.setattr("httpdyno.experiments.crawl.plan._with_saturating", lambda subjects, *_: subjects)
    monkeypatch.setattr("httpdyno.experiments.verify_generator.run.measure_overhead_ns", lambda *_, **__: 0)
    return numbers


def test_every_verb_that_measures_is_named() -> None:
    assert {words[0] for words in typed()} == MEASURING
    assert len(typed()) > 80


@pytest.mark.parametrize("words", typed(), ids=" ".join)
def test_it_is_accepted(words: Sequence[str], httpdyno: Command, planned: list[int]) -> None:
    ended = httpdyno(*(word.replace("{subjects}", "of-endurance") for word in words))
    assert (ended.code, len(planned)) == (0, 1), ended.err
    assert planned[0] > 0
