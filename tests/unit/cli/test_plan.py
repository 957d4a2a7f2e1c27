"""``httpdyno plan``: a load in machines, from a run or from the one that ships."""

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from doubles.command_line import Command, all_commands
from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.model import Counters, LinesSummary, Outcome, Tally, Trial

GOLDEN = Path(__file__).parents[2] / "golden"


def measured(subject: str, block: int, cpu_ms: float, **changes: Any) -> Trial:
    given: dict[str, Any] = {
        "language": "",
        "concurrency": 100,
        "tally": Tally(right=1000),
        "summary": LinesSummary(
            urls=1000,
            mean_ns=5e8,
            planned_mean_ns=4.9e8,
            right_per_s=190.0,
            cpu_per_right_ns=cpu_ms * 1e6 * (1 + block / 10),
            ok_share=1.0,
        ),
        "counters": Counters(received_bytes=100_000_000, requests=1000, connections=500, peak_memory_bytes=2**26),
    }
    return trial(subject, block, **(given | changes))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run of a cheap client and an expensive one, and of one that was missing."""
    trials = [measured(name, block, ms) for block in range(3) for name, ms in (("dear", 5.0), ("cheap", 1.0))]
    gone = trial("gone", 0, summary=None, tally=None, outcome=Outcome.UNAVAILABLE, validity=None)
    make_run(tmp_path / "runs", [*trials, gone], name="one")
    return tmp_path / "runs"


@pytest.mark.usefixtures("runs")
def test_the_answer_comes_first_and_the_cheapest_client_on_top(httpdyno: Command) -> None:
    ended = httpdyno("plan", "2000/s")
    assert (ended.code, ended.err) == (0, "")
    answer, heading, _, *rows = whole(ended.out).splitlines()
    assert answer == (
        "2000/s is 2,000 answers a second. cheap needs 2.2 (2 to 2.4) cores, 1,000 requests in flight and 1.6 Gbit/s: "
        "1 machine of 8 cores, limited by CPU (28 % used). dear needs most: 11 (10 to 12) cores, 2 machines."
    )
    names = ["client", "cores", "machines", "in_flight", "memory_mib", "gbit_per_s", "sockets", "limit"]
    assert heading.split() == names
    assert rows[0].split() == ["cheap", "2.2", "±10%", "1", "1,000", "±0%", "640", "±0%", "1.6", "±0%", "61,000", "CPU"]
    assert rows[1].split()[0] == "dear"
    notes = whole(ended.out).partition("\n\n")[2].splitlines()
    assert notes[0] == "figures: runs/one (2026-11-21, A CPU, web plain)"
    assert "not planned, because figures are missing: C gone" in notes
    assert notes[-1].startswith("check with a tenth of one machine's load: httpdyno capacity cheap --rps 200 --size ")


def test_programs_get_each_quantity_with_its_interval(httpdyno: Command, runs: Path) -> None:
    assert runs.is_dir()
    ended = httpdyno("plan", "2000/s", "--format", "json")
    cheap, dear = json.loads(ended.out)
    assert (cheap["subject"], dear["subject"]) == ("cheap", "dear")
    assert (dear["machines"], dear["machines_low"], dear["machines_high"]) == (2, 2, 2)
    assert [cheap[f"cores{end}"] for end in ("_low", "", "_high")] == pytest.approx([2.0, 2.2, 2.4])
    assert (cheap["confidence"], cheap["trials"], cheap["verdict"]) == (0.75, 3, "VALID")
    assert cheap["gbit_per_s"] == pytest.approx(1.6)
    assert (cheap["cpu_share"], cheap["limit"]) == (pytest.approx(0.275), "CPU")
    (first, _) = csv.DictReader(io.StringIO(httpdyno("plan", "2000/s", "--format", "csv").out))
    assert list(first) == [key for key in cheap if key != "notes"]


@pytest.mark.parametrize("name", ["latest", "one", "runs/one", "./runs/one"])
@pytest.mark.usefixtures("runs")
def test_the_run_is_found_by_each_of_its_names(httpdyno: Command, name: str) -> None:
    assert httpdyno("plan", "2000/s", "--from", name).out.count("cheap") >= 2


@pytest.mark.parametrize("made", [None, "load"])
def test_without_a_bench_run_the_shipped_one_is_planned(httpdyno: Command, tmp_path: Path, made: str | None) -> None:
    if made:
        make_run(tmp_path / "runs", [measured("cheap", 0, 1.0, experiment=made)], experiment=made)
    ended = httpdyno("plan", "1e9/week")
    assert ended.code == 0
    assert "figures: the shipped example run (2026-" in ended.out
    assert "measure your own: httpdyno bench" in whole(ended.out)
    assert "Go net/http" in ended.out
    assert max(map(len, ended.out.partition("\n\n")[0].splitlines()[1:])) <= 100


def test_the_latest_run_that_has_no_figures_is_passed_over(httpdyno: Command, runs: Path) -> None:
    (runs / "broken").mkdir()
    (runs / "broken" / "manifest.json").write_text('{"started_at": "2031-01-01T00:00:00Z"}', encoding="utf-8")
    assert "figures: runs/one" in httpdyno("plan", "2000/s").out


@pytest.mark.parametrize("output", ["table", "plain", "json", "csv", "markdown"])
def test_each_format_is_there(httpdyno: Command, output: str) -> None:
    ended = httpdyno("plan", "1e9/week", "--format", output)
    assert ended.code == 0
    assert "Rust reqwest" in ended.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["2000"], "RATE: '2000' is not a rate; write it like 1e9/week, 100M/day or 2000/s"),
        (["0/s"], "RATE: '0/s' must be above 0; write it like 1e9/week, 100M/day or 2000/s"),
        (["1/s", "--bytes", "0"], "--bytes: '0' must be above 0; write it like 256KB"),
        (["1/s", "--bytes", "big"], "--bytes: 'big' is not understood; write it like 2GiB, 512MiB or 4096"),
        (["1/s", "--rtt", "80"], "--rtt: '80' is not understood; write it like 40ms, 5s or 10m"),
        (["1/s", "--rtt", "2m"], "--rtt: '2m' is longer than a minute; write it like 80ms"),
        (["1/s", "--memory", "0"], "--memory: '0' must be above 0; write it like 32GiB"),
        (["1/s", "--bandwidth", "10"], "--bandwidth: '10' is not understood; write it like 1gbit, 100mbit or 2.5gbit"),
        (["1/s", "--cores", "0"], "--cores: '0' is not a number from 0.01 to 100000; see: httpdyno plan -h"),
        (["1/s", "--peak", "0.5"], "--peak: '0.5' is not a number from 1.0 to 1000.0; see: httpdyno plan -h"),
        (["1/s", "--format", "pdf"], "--format: 'pdf' is unknown; choose from: csv, json, markdown, plain, table"),
        ([], "RATE is missing; see: httpdyno plan -h"),
        (["1/s", "--client", "cheap"], "--client: requires --machines; add it, such as --machines 16"),
        (["1/s", "--name-servers", "9/s"], "--name-servers: requires --machines; add it, such as --machines 16"),
        (["1/s", "--machines", "0"], "--machines: '0' is not a whole number from 1 to 1000000; see: httpdyno plan -h"),
        (
            ["1/s", "--machines", "2", "--largest-domain", "1%"],
            "--largest-domain and --per-domain-interval: one limits nothing without the other; give both",
        ),
        (
            ["1/s", "--machines", "2", "--name-servers", "9"],
            "--name-servers: '9' is not a rate; write it like 1e9/week, 100M/day or 2000/s",
        ),
        (
            ["1/s", "--machines", "2", "--largest-domain", "2", "--per-domain-interval", "1s"],
            "--largest-domain: '2' is not a share above 0 and at most 1; write it like 0.1%",
        ),
    ],
)
def test_what_cannot_be_planned_is_one_line(httpdyno: Command, options: list[str], said: str) -> None:
    ended = httpdyno("plan", *options)
    assert (ended.code, ended.out, ended.err) == (2, "", f"httpdyno: {said}\n")


def test_a_run_without_clients_has_nothing_to_plan(httpdyno: Command, tmp_path: Path) -> None:
    make_run(tmp_path / "runs", [trial("server", 0, summary=None, tally=None)], name="other")
    ended = httpdyno("plan", "1/s", "--from", "other")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        "httpdyno: runs/other: no trial has CPU time, bytes and times of right answers; plan from a run of: "
        "httpdyno bench CLIENT\n"
    )


def test_a_run_over_several_links_is_refused(httpdyno: Command, tmp_path: Path) -> None:
    links = ("direct", "rtt=40ms")
    make_run(tmp_path / "runs", [measured("cheap", 0, 1.0, link=link, condition=link) for link in links], name="far")
    ended = httpdyno("plan", "1/s", "--from", "far")
    assert (ended.code, ended.out) == (2, "")
    assert "plan needs a run over one link, and this run has 2" in ended.err


@pytest.mark.usefixtures("runs")
def test_another_size_is_planned_with_a_warning(httpdyno: Command) -> None:
    warned, same = (whole(httpdyno("plan", "2000/s", "--bytes", size).out) for size in ("256KB", "100KB"))
    assert "4.1 Gbit/s" in warned
    assert "--bytes changes the bandwidth alone" in warned
    assert "--bytes changes" not in same


@pytest.mark.usefixtures("runs")
def test_a_distance_adds_its_round_trips(httpdyno: Command) -> None:
    out = whole(httpdyno("plan", "2000/s", "--rtt", "80ms").out)
    # One for the request; on each second request one to connect, and two for small windows.
    assert "2.5 round trips of 80 ms (new connections included) on top of the measured time" in out
    assert "1,400 requests in flight" in out


@pytest.mark.parametrize(
    "options", [[], ["--rtt", "80ms"], ["--bytes", "2KB"], ["--cores", "96"], ["--bandwidth", "1gbit", "--peak", "3"]]
)
@pytest.mark.parametrize("rate", ["1e9/week", "2000/s", "1/h", "1e6/s"])
def test_each_command_that_checks_a_plan_can_be_typed(httpdyno: Command, rate: str, options: list[str]) -> None:
    for row in json.loads(httpdyno("plan", rate, *options, "--format", "json").out):
        program, verb, *arguments = shlex.split(row["check"])
        assert (program, verb) == ("httpdyno", "capacity")
        context = all_commands()["capacity"].make_context(verb, arguments)
        assert context.params["names"] == (row["subject"],)


def test_an_idle_process_is_warned_of(httpdyno: Command, runs: Path) -> None:
    assert runs.is_dir()
    assert "the planned one is 0.02 %: an answer then costs more CPU time" in whole(httpdyno("plan", "0.2/s").out)
    assert "costs more CPU time" not in httpdyno("plan", "2000/s").out


@pytest.mark.usefixtures("runs")
def test_a_link_that_is_nearly_full_is_warned_of(httpdyno: Command) -> None:
    assert "bandwidth: 89 % used; above 80 % answers queue" in whole(
        httpdyno("plan", "2000/s", "--bandwidth", "1.8gbit").out
    )
    assert "answers queue" not in httpdyno("plan", "2000/s", "--bandwidth", "3gbit").out


def whole(text: str) -> str:
    """Join the lines that were wrapped at the width of a terminal."""
    return text.replace("\n  ", " ")


@pytest.mark.usefixtures("runs")
def test_several_machines_are_planned_for_one_client_until_the_shared_link_is_full(httpdyno: Command) -> None:
    words = ("plan", "4e4/s", "--from", "one", "--machines", "5", "--client", "dear", "--shared-bandwidth", "4gbit")
    ended = httpdyno(*words)
    assert (ended.code, ended.err) == (0, "")
    answer, heading, *_ = whole(ended.out).splitlines()
    assert answer == (
        "4e4/s is 40,000 answers a second. dear fetches 1,455 (1,333 to 1,600) a second on a machine of 8 cores, "
        "limited by CPU: no number of machines is enough. From 4 on, the shared link is the limit, at 5,000 a second."
    )
    assert heading.split() == ["machines", "answers_per_s", "of_linear", "of_load", "limit"]
    assert [row.split() for row in ended.out.partition("─\n")[2].splitlines()[:4]] == [
        ["1", "1,455", "±10%", "100%", "4%", "CPU"],
        ["2", "2,909", "±10%", "100%", "7%", "CPU"],
        ["4", "5,000", "±0%", "86%", "12%", "shared", "link"],
        ["5", "5,000", "±0%", "69%", "12%", "shared", "link"],
    ]
    *_, last = csv.DictReader(io.StringIO(httpdyno(*words, "--format", "csv").out))
    assert (last["machines"], float(last["rate_per_s"]), last["limit"]) == ("5", 5000.0, "shared link")


@pytest.mark.usefixtures("runs")
def test_a_client_or_queries_that_the_run_does_not_have_are_named(httpdyno: Command) -> None:
    for words, said in [
        (("--client", "gone"), "--client: 'gone' has no figures in runs/one; it has those of dear, cheap"),
        (("--name-servers", "9/s"), "--name-servers: the run has not counted the queries of an answer; measure them"),
    ]:
        ended = httpdyno("plan", "1/s", "--from", "one", "--machines", "2", *words)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
