"""The service question as an experiment: its points, its trials, its settings, its search."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.plans import following
from httpdyno.errors import InvalidValue, UnreadableRun
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.plan import Service, search_between
from httpdyno.experiments.service.present import reach_table, reaches
from httpdyno.judge import trial_not_run
from httpdyno.model import Loop, Outcome, Subject, SubjectKind, Trial, TrialPlan, Validity

MS = 10**6


def server(name: str) -> Subject:
    return Subject(name, SubjectKind.SERVER, "X", name, Path(), ("x",))


SERVERS = (server("fast"), server("slow"), server("flask"))


def measured(plan: TrialPlan, held: bool, **changes: object) -> Trial:
    why = None if held else "p99 is 4 s, 2.00 times the ideal of 2 s"
    summary = ServiceSummary(answers=9, errors=0, held=held, why_not=why, overhead_p99_ns=5.0 * MS)
    trial = replace(trial_not_run(plan, Outcome.OK, None).having(summary), validity=Validity.VALID)
    return replace(trial, **changes)  # type: ignore[arg-type]


def search(breaks: Callable[[str], float], **changes: object) -> list[Trial]:
    experiment = Service(connections="20", search=True, **changes)  # type: ignore[arg-type]
    plan = experiment.plan(SERVERS)
    seen: list[Trial] = []
    for step in following(plan, seen):
        point = step.condition.get(ServicePoint)
        assert point is not None
        seen.append(measured(step, point.connections < breaks(step.subject.id)))
    assert len(seen) <= plan.most
    assert plan.unplanned(seen) is None
    return seen


def test_a_point_sends_as_long_as_its_steady_stretch_takes() -> None:
    (condition,) = Service(connections="20").conditions()
    assert (condition.send_s, condition.concurrency, condition.name) == (15.0, 20, "20 connections")
    (quick,) = Service(connections="20", quick=True).conditions()
    assert quick.send_s == 11.0
    (asked,) = Service(connections="20", duration_s=4.25).conditions()
    assert asked.send_s == 11.25
    # A tool knows whole seconds.
    (of_tool,) = Service(connections="20", generator="rewrk", duration_s=4.25).conditions()
    assert of_tool.send_s == 12.0
    assert condition.deadline_s > condition.send_s + 30


def test_an_open_loop_keeps_an_ideal_server_at_the_number_of_connections() -> None:
    service = Service(connections="20", loop="closed,open", threads="1,unlimited")
    points = list(service.points())
    assert [(point.loop, point.rate_per_s, point.threads) for point in points] == [
        (Loop.CLOSED, None, 1),
        (Loop.CLOSED, None, None),
        (Loop.OPEN, 10.0, 1),
        (Loop.OPEN, 10.0, None),
    ]
    names = [condition.name for condition in service.conditions()]
    assert len(set(names)) == 4
    assert names[2] == "20 connections, open loop, 10/s, 1 thread"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Service(connections=""), "--connections: '' is not understood"),
        (lambda: Service(connections="0"), "--connections: 1 to 50,000, not 0"),
        (lambda: Service(rate_per_s=5.0), "--rate: a closed loop has none"),
        (lambda: Service(loop="open", endpoint="plain"), "--loop open: /plain has no ideal"),
        (lambda: Service(loop="open", generator="rewrk"), "--loop open: rewrk sends when an answer came"),
        (lambda: Service(threads="0"), "--threads: '0' is not understood"),
        (lambda: Service(workers=0), "--workers: 1 or more"),
        (lambda: Service(server_cpus="0"), "--server-cpus: '0' is not understood"),
        (lambda: Service(timeout_ms=0), "--timeout-ms: 1 or more"),
        (lambda: Service(duration_s=0.5), "--duration: 0.5 s are too short"),
        (lambda: Service(duration_s=3.9), "3.9 s are too short for requests that wait 2 s; write 4s or"),
        (lambda: Service(endpoint="json", search=True), "--search: only requests with waits"),
        (
            lambda: Service(loop="open", rate_per_s=5.0, search=True),
            "--search: the rate follows",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_trials_are_interleaved_and_servers_of_a_preset_keep_their_threads() -> None:
    experiment = Service(threads="1", repeat=2, threads_of="flask=10")
    plan = experiment.plan(SERVERS)
    assert plan.most == 2 * 3 * 3
    threads = {
        (one.subject.id, one.condition[ServicePoint].threads)
        for one in plan.left([])
        if one.condition.get(ServicePoint)
    }
    assert threads == {("fast", 1), ("slow", 1), ("flask", 10)}
    # They are compared at the same point nevertheless.
    assert len({one.condition.name for one in plan.left([])}) == 3


@pytest.mark.parametrize(
    "experiment",
    [
        Service(),
        Service(
            connections="5,7",
            loop="closed,open",
            threads="1,unlimited",
            server_cpus="1,3",
            workers=2,
            rate_per_s=8.0,
            timeout_ms=900,
            duration_s=4.0,
            memory_bytes=1 << 30,
            link="rtt=4ms",
            repeat=2,
            quick=True,
            seed=7,
        ),
        Service(
            generator="rewrk",
            send_s=30.0,
            preset="published",
            generator_folder="/x",
            threads_of="flask=10",
        ),
        Service(endpoint="plain"),
        Service(connections="20", search=True, most_connections=500),
    ],
)
def test_an_experiment_is_made_again_from_its_settings(experiment: Service) -> None:
    again = Service.restore(experiment.settings(), ())
    assert again == experiment
    assert again.conditions() == experiment.conditions()


@pytest.mark.parametrize(
    "change", [{"connections": "x"}, {"loop": "ajar"}, {"threads_of": "flask"}, {"workers": 0}, {"server_cpus": "all"}]
)
def test_damaged_settings_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(UnreadableRun, match="the settings of the run are damaged"):
        Service.restore({**Service().settings(), **change}, ())


def test_settings_that_lack_one_are_refused() -> None:
    settings = {name: value for name, value in Service().settings().items() if name != "generator"}
    with pytest.raises(UnreadableRun, match="generator is missing"):
        Service.restore(settings, ())


def test_the_settings_of_a_run_that_is_older_than_the_axis_of_cpus_are_read() -> None:
    settings = {name: value for name, value in Service().settings().items() if name != "server_cpus"}
    assert Service.restore(settings, ()) == Service()


def test_cpus_are_an_axis_in_a_grid_and_in_a_search() -> None:
    service = Service(connections="20", server_cpus="1,3")
    assert [condition.name for condition in service.conditions()] == [
        "20 connections, 1 CPU",
        "20 connections, 3 CPUs",
    ]
    plan = replace(service, search=True, most_connections=500).plan(SERVERS[:1])
    seen: list[Trial] = []
    for step in following(plan, seen):
        point = step.condition.get(ServicePoint)
        assert point is not None
        assert point.cpus is not None
        seen.append(measured(step, point.connections < 100 * point.cpus))
    one, three = reaches(seen, search_between(20, 500))
    assert (one.variant.cpus, three.variant.cpus) == (1, 3)
    assert (one.held, one.failed) < (100, 110) < (three.held, three.failed)
    shown = [column.name for column in reach_table([one, three]).columns if column.shown]
    assert shown == ["server", "CPUs", "holds", "breaks at", "how", "trials"]


def test_each_server_is_searched_to_where_it_breaks() -> None:
    trials = search({"fast": 1e9, "slow": 300, "flask": 1}.__getitem__, most_connections=1000)
    found = {one.subject: one for one in reaches(trials)}
    assert (found["fast"].held, found["fast"].failed) == (1000, None)
    assert (found["slow"].held, found["slow"].failed) == (293, 320)
    assert (found["flask"].held, found["flask"].failed) == (None, 20)
    assert found["slow"].how == "p99 is 4 s, 2.00 times the ideal of 2 s"
    # Rounds: each block has every server that is still searched once.
    assert {trial.subject for trial in trials if trial.block == 0} == {"fast", "slow", "flask"}


def test_a_quick_search_is_coarser() -> None:
    few = search({"fast": 1e9, "slow": 300, "flask": 1}.__getitem__, quick=True)
    many = search({"fast": 1e9, "slow": 300, "flask": 1}.__getitem__)
    assert len(few) < len(many)
    found = {one.subject: one for one in reaches(few)}
    assert (found["slow"].held, found["slow"].failed) == (160, 320)


def test_a_disturbed_trial_is_made_again_and_believed_the_second_time() -> None:
    experiment = Service(connections="20", search=True)
    plan = experiment.plan(SERVERS[:1])
    seen: list[Trial] = []
    first = plan.next(seen)
    assert first is not None
    seen.append(measured(first, held=False, validity=Validity.UNSTEADY))
    again = plan.next(seen)
    assert again is not None
    assert (again.condition.name, again.why) == (
        first.condition.name,
        "again, because something else disturbed the trial",
    )
    seen.append(measured(again, held=False, validity=Validity.UNSTEADY))
    assert plan.next(seen) is None
    (reach,) = reaches(seen)
    assert (reach.failed, reach.doubtful) == (20, True)
    (how,) = reach_table([reach]).values("how")
    assert str(how).endswith("(the machine may have been at fault)")


def test_a_stopped_search_reports_only_its_trials() -> None:
    trials = search({"fast": 1e9, "slow": 70, "flask": 1}.__getitem__, most_connections=1000)
    # The second round was the last: 20 and 40 connections were tried.
    stopped = [trial for trial in trials if trial.block < 2]
    bounds = search_between(20, 1000)
    printed = reach_table(reaches(stopped, bounds), most=bounds.high)
    assert dict(zip(printed.values("server"), printed.values("holds"), strict=True)) == {
        "fast": 40,
        "slow": 40,
        "flask": None,
    }
    hows = dict(zip(printed.values("server"), printed.values("how"), strict=True))
    assert hows["fast"] == hows["slow"] == "the search was not finished"
    assert hows["flask"] == "p99 is 4 s, 2.00 times the ideal of 2 s"
    notes = " ".join(note.text for note in printed.notes)
    assert "1,000" not in notes
    assert "the result of an unfinished search" in notes
    # The range of the breaking point is wider than requested.
    coarse = [trial for trial in trials if trial.block < 3]
    hows = dict(zip(printed.values("server"), reach_table(reaches(coarse, bounds)).values("how"), strict=True))
    assert "p99 is 4 s, 2.00 times the ideal of 2 s; the search was not finished" in hows.values()


def test_of_a_search_that_was_finished_nothing_is_left_open() -> None:
    trials = search({"fast": 1e9, "slow": 70, "flask": 1}.__getitem__, most_connections=1000)
    found = reaches(trials, search_between(20, 1000))
    assert not any(one.unfinished for one in found)
    notes = [note.text for note in reach_table(found, most=1000).notes]
    assert "a server without a number under 'breaks at' holds 1,000 connections, the most measured" in notes


def test_a_grid_reports_a_doubtful_breaking_point() -> None:
    grid = Service(connections="20,100").plan(SERVERS[:1]).left([])
    seen = [measured(one, held=one.concurrency < 50, validity=Validity.UNSTEADY) for one in grid]
    (reach,) = reaches(seen)
    assert (reach.held, reach.failed, reach.doubtful) == (20, 100, True)


@pytest.mark.parametrize(
    ("repeats", "holds"),
    [
        ([(True, Validity.VALID)] * 3, True),
        ([(False, Validity.VALID), (False, Validity.VALID), (True, Validity.VALID)], False),
        ([(True, Validity.VALID), (True, Validity.VALID), (False, Validity.VALID)], False),
        # A disturbed trial does not count where undisturbed ones exist.
        ([(True, Validity.VALID), (False, Validity.UNSTEADY)], True),
        ([(False, Validity.UNSTEADY), (False, Validity.UNSTEADY)], False),
    ],
)
def test_a_grid_holds_what_all_its_repeats_held(repeats: list[tuple[bool, Validity]], holds: bool) -> None:
    grid = Service(connections="20", repeat=len(repeats)).plan(SERVERS[:1]).left([])
    seen = [measured(step, held=held, validity=of) for step, (held, of) in zip(grid, repeats, strict=True)]
    (reach,) = reaches(seen)
    assert (reach.held, reach.failed) == ((20, None) if holds else (None, 20))


@pytest.mark.parametrize("outcome", [Outcome.UNAVAILABLE, Outcome.NEVER_LISTENED, Outcome.CRASHED])
def test_a_server_that_does_not_run_is_tried_once(outcome: Outcome) -> None:
    plan = Service(connections="20", search=True).plan(SERVERS[:1])
    first = plan.next([])
    assert first is not None
    assert plan.next([trial_not_run(first, outcome, "x")]) is None


def test_a_server_that_dies_breaks_there() -> None:
    plan = Service(connections="20", search=True).plan(SERVERS[:1])
    seen: list[Trial] = []
    for step in following(plan, seen):
        point = step.condition.get(ServicePoint)
        assert point is not None
        alive = point.connections < 70
        outcome, reason = (Outcome.OK, None) if alive else (Outcome.DIED, "killed by SIGKILL")
        seen.append(measured(step, alive, outcome=outcome, reason=reason))
    (reach,) = reaches(seen)
    assert reach.held is not None
    assert reach.failed is not None
    assert reach.held < 70 <= reach.failed
    assert reach.how == "died: killed by SIGKILL"


def test_points_without_an_ideal_reach_nowhere() -> None:
    (condition,) = Service(connections="20", endpoint="plain").conditions()
    assert reaches([measured(TrialPlan(0, 0, 0, SERVERS[0], condition), held=True)]) == ()
    assert isinstance(condition.get(ServicePoint), ServicePoint)
