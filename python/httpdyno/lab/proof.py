"""Proof of the claims of subjects: each build is tried once, and the results are kept with it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.errors import SubjectUnavailable
from httpdyno.judge.client_cases import contract_cases
from httpdyno.lab.conformance import Room, claims_of, results_of, try_cases, try_claims
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.model import CaseOutcome, CaseResult, Cases, Subject, SubjectKind, Trial, flatten, restore
from httpdyno.storage import storage_errors
from httpdyno.store.files import write_whole
from httpdyno.subjects.build import BuildOutcome
from httpdyno.subjects.cache import BuildPlace

_FILE: Final = "probe.json"


def prove_all(
    builds: Mapping[str, BuildOutcome],
    engine: Engine,
    pinning: Pinning,
    interruption: Interruption,
    *,
    tell: Callable[[Subject], None] = lambda _: None,
) -> dict[str, BuildOutcome]:
    """Replace the build of each client and server whose claims do not hold by an error that names the claims.

    Builds are by the id of the subject, and keep their order. ``tell`` gets each subject that must be probed now,
    because it was not probed before with this build and this engine.
    """
    proven = dict(builds)
    claiming = [outcome.build for outcome in builds.values() if outcome.build and _claims_anything(outcome.subject)]
    digest = engine.identity().sha256 if claiming else ""
    for build in claiming:
        subject, name = build.subject, build.subject.id
        results = _read_proof(build.place, digest)
        if results is None:
            tell(subject)
            results = results_of(prove(Room(engine, build, pinning, interruption)))
        # A capability that works without a claim spoils no figure; the contract test reports it.
        if broken := [str(result) for result in results if result.claimed and not result.is_right]:
            error = SubjectUnavailable(
                f"{name}: not measured, for it claims what it does not do: {'; '.join(broken)}; "
                f"look closer with: httpdyno subjects probe {name}"
            )
            proven[name] = BuildOutcome(subject, error=error)
    return proven


def prove(room: Room) -> Sequence[Trial]:
    """Try the claims of a built client or server now, and keep the results with the build.

    A failed case is tried a second time, and only that counts: on a busy machine a client can miss its timeout, but not
    twice in a row. Cases are independent, so the others are not repeated.
    """
    trials = list(try_claims(room))
    if failed := [result.title for result in results_of(trials) if not result.is_right]:
        right = [[result for result in trial[Cases].cases if result.is_right] for trial in trials]
        trials = [trial.having(Cases(tuple(some))) for trial, some in zip(trials, right, strict=True) if some]
        for trial in try_claims(room, only=failed):
            again = (replace(result, attempts=result.attempts + 1) for result in trial[Cases].cases)
            trials.append(trial.having(Cases(tuple(again))))
    order = [case.title for case in claims_of(room.build.subject)]
    trials.sort(key=lambda trial: order.index(trial[Cases].cases[0].title))
    with storage_errors("keeping what a probe found: cannot write"):
        write_proof(room.build.place, room.engine.identity().sha256, results_of(trials))
    return trials


def check(room: Room) -> Iterator[Trial]:
    """Try each clause of the contract of clients, and the claims if every clause was tried."""
    is_whole = True
    for trial in try_cases(room, contract_cases(room.build.subject)):
        is_whole &= all(result.outcome is not CaseOutcome.NOT_TRIED for result in trial[Cases].cases)
        yield trial
    if is_whole:
        yield from prove(room)


def _claims_anything(subject: Subject) -> bool:
    """Return whether a subject claims any capability; load tools and adapters for other purposes claim none."""
    return subject.kind is not SubjectKind.TOOL and (
        bool(subject.capabilities.endpoints) or any(case.claimed for case in claims_of(subject))
    )


def _read_proof(place: BuildPlace, engine: str) -> tuple[CaseResult, ...] | None:
    """Read the results of a probe; None if this build was not probed with this engine, or the file is unreadable."""
    try:
        values = json.loads((place.path / _FILE).read_text(encoding="utf-8"))
        results = tuple(restore(CaseResult, result) for result in values["results"])
        return results if values["engine"] == engine else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_proof(place: BuildPlace, engine: str, results: Sequence[CaseResult]) -> None:
    """Write the results of a probe atomically."""
    text = json.dumps({"engine": engine, "results": [flatten(result) for result in results]}, indent=2)
    write_whole(place.path / _FILE, lambda file: file.write(f"{text}\n".encode()))
