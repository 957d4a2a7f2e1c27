"""Begins a capacity question: who is asked, the grid, and what was not said made definite."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import settled
from httpdyno.experiments.beginning import Beginning, Begun, Tell
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.capacity import Capacity
from httpdyno.experiments.capacity.extent import extent_of
from httpdyno.experiments.capacity.judge.objective import DEFAULT_OBJECTIVE
from httpdyno.experiments.capacity.options import CapacityOptions
from httpdyno.experiments.capacity.presets import DEFAULT_SUBJECTS, CapacityPreset, find_capacity_preset
from httpdyno.experiments.capacity.quantity import CONCURRENCY, DELAY, LINK_RATE, QUEUE, ROUND_TRIP, SIZE
from httpdyno.experiments.capacity.timing import DEFAULT_DURATION_S
from httpdyno.experiments.options import stored_options
from httpdyno.lab.engine import Engine
from httpdyno.model import Link, Loop, Subject, SubjectKind, parse_loop
from httpdyno.model.link import BILLION, LinkTextError, key_value
from httpdyno.published import parse_scale
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.subjects.template import loops_of

__all__ = ["begin_capacity", "choose_subjects", "make_capacity", "usual_loop"]

_QUICK_DURATION_S = 1.0
_TIMEOUT_S = 10.0
_WEB = "plain"
_LOOPS = {Loop.OPEN: "an open loop, on a schedule", Loop.CLOSED: "a closed loop"}


def begin_capacity(beginning: Beginning, names: Sequence[str], options: CapacityOptions) -> Begun:
    """Begin the question that is asked."""
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    experiment = make_capacity(options, chosen, beginning.place.engine, beginning.tell)
    extent = extent_of(
        experiment.axes, subjects=len(chosen), repeat=experiment.repeat, duration_s=experiment.duration_s
    )
    if experiment.frontier:
        extent = extent.of(experiment.plan(chosen).most)
    extent.check(agreed=options.yes)
    beginning.install(chosen)
    return Begun(experiment, chosen)


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the clients and tools that are named; of a preset, those that it asks about."""
    if not names and preset is None:
        raise UsageError("capacity: name the SUBJECT whose capacity is asked for, such as go-net-http")
    subjects = catalogue.select(names or DEFAULT_SUBJECTS)
    for subject in subjects:
        if subject.kind is SubjectKind.SERVER:
            raise UsageError(
                f"{subject.id} is a server; capacity asks clients and load tools, see: httpdyno subjects list"
            )
    return subjects


def make_capacity(options: CapacityOptions, subjects: Sequence[Subject], engine: Engine, tell: Tell) -> Capacity:
    """Make the experiment that is asked for; the engine says which seed its web has of its own."""
    preset = _preset(options)
    axes = _axes(options, preset, usual_loop(subjects))
    if options.duration_s is not None and axes.loop is Loop.CLOSED:
        raise UsageError(
            "--duration: a closed loop has no schedule, and lasts as long as its answers need; leave it out"
        )
    for tool in (subject for subject in subjects if subject.kind is SubjectKind.TOOL):
        if axes.loop not in loops_of(tool):
            raise UsageError(f"{tool.id} cannot send in {_LOOPS[axes.loop]}; give the other --loop, or leave it out")
        if axes.loop is Loop.OPEN and not tool.open_counts_from_due:
            tell(f"{tool.id} counts from when it sent, not from when that was due: no time of its has what waited")
    there = None if options.against is None else settled(options.against, engine, tell, web=_WEB, seed=options.seed)
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    usual_timeout_s = (preset and preset.table.circumstances.timeout_s) or _TIMEOUT_S
    usual_s = _QUICK_DURATION_S if options.quick else DEFAULT_DURATION_S
    found = {
        "slo": DEFAULT_OBJECTIVE if options.slo is None else options.slo,
        "duration_s": usual_s if options.duration_s is None else options.duration_s,
        "timeout_s": usual_timeout_s if options.timeout_s is None else options.timeout_s,
        "seed": web.seed,
        "scale": options.scale if options.preset else None,
        "against": there.url if there else None,
    }
    return Capacity(**(stored_options(options) | found), axes=axes, web=_WEB, web_digest=web.digest)


def _preset(options: CapacityOptions) -> CapacityPreset | None:
    if options.preset is not None:
        return find_capacity_preset(options.preset)
    for option, given in (("--scale", options.scale is not None), ("--as-labelled", options.as_labelled)):
        if given:
            raise UsageError(f"{option}: only a published grid has it; give a --preset, too")
    return None


def usual_loop(subjects: Sequence[Subject]) -> Loop:
    """Return the loop where none is named: closed for tools that would tell of no wait in an open one."""
    blind = (subject.kind is SubjectKind.TOOL and not subject.open_counts_from_due for subject in subjects)
    return Loop.CLOSED if all(blind) else Loop.OPEN


def _axes(options: CapacityOptions, preset: CapacityPreset | None, usual: Loop) -> Axes:
    """Return the grid of the preset, or the usual one, with the axes that were given instead of its own.

    The way to another machine takes the place of a link that all points of a preset share.
    """
    if preset is None:
        axes = Axes(loop=usual)
    else:
        share = Fraction(1) if options.scale is None else parse_scale(options.scale)
        axes = preset.axes(share, as_labelled=options.as_labelled)
        if options.against is not None and not preset.varies_link:
            axes = replace(axes, round_trips_ns=(0,), rates_bits_per_s=(None,), queues_ns=(None,))
    axes = axes if options.link is None else axes.over(Link.parse(options.link))
    given: dict[str, object] = {
        field: quantity.values(text)
        for field, quantity, text in (
            ("sizes_bytes", SIZE, options.size),
            ("delays_ns", DELAY, options.delay),
            ("round_trips_ns", ROUND_TRIP, options.rtt),
            ("rates_bits_per_s", LINK_RATE, options.link_rate),
            ("queues_ns", QUEUE, options.queue),
            ("concurrencies", CONCURRENCY, options.concurrency),
        )
        if text is not None
    }
    if options.rps is not None:
        given["rps"] = options.rps
    if options.loss is not None:
        given["loss"] = _loss(options.loss)
    if options.loop is not None:
        given["loop"] = parse_loop(options.loop, name="--loop")
    return replace(axes, **given)  # type: ignore[arg-type]  # each is of the type of its field


def _loss(text: str) -> float:
    try:
        return key_value(f"loss={text}")[1] / BILLION
    except LinkTextError as refused:
        raise InvalidValue(f"--{refused}") from None
