"""Lets nobody be measured whose claims do not hold: each build is probed once, and what came out is kept beside it."""

from collections.abc import Callable, Mapping

from httpdyno.errors import SubjectUnavailable
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject, SubjectKind
from httpdyno.storage import storage_errors
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import ProbeResult, claims_anything
from httpdyno.subjects.proof import read_proof, write_proof

__all__ = ["prove", "prove_all"]


def prove_all(
    builds: Mapping[str, BuildOutcome],
    engine: Engine,
    pinning: Pinning,
    interruption: Interruption,
    *,
    tell: Callable[[Subject], None] = lambda _: None,
) -> dict[str, BuildOutcome]:
    """Take the build from every client, and every server, that claims what it cannot do.

    Parameters
    ----------
    builds : mapping
        What became of the builds, by the id of the subject.
    engine, pinning, interruption
        Where they are probed, unless it was done before with this build and this engine.
    tell : callable
        Gets each subject that has to be probed now.

    Returns
    -------
    dict of BuildOutcome
        In the same order; one whose claims fail has no build, and an error that names them.

    Raises
    ------
    Interrupted
        If it was stopped.
    EngineFailed
        If the engine refuses or fails.
    StorageFailed
        If the cache cannot be written.
    """
    return {name: _proven(outcome, engine, pinning, interruption, tell) for name, outcome in builds.items()}


def prove(
    outcome: BuildOutcome, engine: Engine, pinning: Pinning, interruption: Interruption
) -> tuple[ProbeResult, ...]:
    """Probe a built client or server now, and keep what came out.

    A case that fails is tried a second time, and that alone counts for it: on a busy machine a client can miss its
    timeout, but not twice in a row. No case knows of another, so those that held need not hold again.

    Raises
    ------
    Interrupted
        If it was stopped.
    EngineFailed
        If the engine refuses or fails.
    StorageFailed
        If the cache cannot be written.
    """
    assert outcome.build is not None
    results = probe_subject(engine, outcome.subject, outcome, pinning, interruption)
    if failed := frozenset(result.claim for result in results if not result.honest):
        again = probe_subject(engine, outcome.subject, outcome, pinning, interruption, only=failed)
        second = {result.claim: result for result in again}
        results = tuple(second.get(result.claim, result) for result in results)
    with storage_errors("keeping what a probe found: cannot write"):
        write_proof(outcome.build.place, engine.identity().sha256, results)
    return results


def _proven(
    outcome: BuildOutcome,
    engine: Engine,
    pinning: Pinning,
    interruption: Interruption,
    tell: Callable[[Subject], None],
) -> BuildOutcome:
    subject, build = outcome.subject, outcome.build
    if build is None or subject.kind is SubjectKind.TOOL or not claims_anything(subject):
        return outcome
    results = read_proof(build.place, engine.identity().sha256)
    if results is None:
        tell(subject)
        results = prove(outcome, engine, pinning, interruption)
    # What works though nobody claims it is the folder's mistake, which the contract test finds; it spoils no figure.
    broken = [str(result) for result in results if result.claimed and not result.honest]
    if not broken:
        return outcome
    return BuildOutcome(
        subject,
        error=SubjectUnavailable(
            f"{subject.id}: not measured, for it claims what it does not do: {'; '.join(broken)}; "
            f"look closer with: httpdyno subjects probe {subject.id}"
        ),
    )
