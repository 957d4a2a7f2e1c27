"""Lets nobody be measured whose claims do not hold: each build is probed once, and what came out is kept beside it."""

from collections.abc import Callable, Mapping, Sequence

from httpdyno.errors import SubjectUnavailable
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.prober import probe_subject
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject, SubjectKind
from httpdyno.storage import storage_errors
from httpdyno.subjects.build import BuildOutcome
from httpdyno.subjects.probe import ProbeResult, claims_anything, read_proof, write_proof

__all__ = ["prove", "prove_all"]


def prove_all(
    builds: Mapping[str, BuildOutcome],
    engine: Engine,
    pinning: Pinning,
    interruption: Interruption,
    *,
    tell: Callable[[Subject], None] = lambda _: None,
) -> dict[str, BuildOutcome]:
    """Remove the build of every client, and every server, that claims what it cannot do.

    Builds are by the id of the subject, and stay in their order; one whose claims fail has an error that names them.
    ``tell`` gets each subject that has to be probed now: it was not before with this build and this engine.
    """
    claiming = [name for name, outcome in builds.items() if _claims(outcome)]
    digest = engine.identity().sha256 if claiming else ""

    def proven(outcome: BuildOutcome) -> BuildOutcome:
        assert outcome.build is not None
        results = read_proof(outcome.build.place, digest)
        if results is None:
            tell(outcome.subject)
            results = _prove(outcome, engine, digest, pinning, interruption)
        return _held_against(outcome, results)

    return {name: proven(outcome) if name in claiming else outcome for name, outcome in builds.items()}


def prove(
    outcome: BuildOutcome, engine: Engine, pinning: Pinning, interruption: Interruption
) -> tuple[ProbeResult, ...]:
    """Probe a built client or server now, and keep what came out.

    A case that fails is tried a second time, and that alone counts for it: on a busy machine a client can miss its
    timeout, but not twice in a row. No case knows of another, so those that held need not hold again.
    """
    return _prove(outcome, engine, engine.identity().sha256, pinning, interruption)


def _prove(
    outcome: BuildOutcome, engine: Engine, digest: str, pinning: Pinning, interruption: Interruption
) -> tuple[ProbeResult, ...]:
    assert outcome.build is not None
    results = probe_subject(engine, outcome.subject, outcome, pinning, interruption)
    if failed := frozenset(result.claim for result in results if not result.honest):
        again = probe_subject(engine, outcome.subject, outcome, pinning, interruption, only=failed)
        second = {result.claim: result for result in again}
        results = tuple(second.get(result.claim, result) for result in results)
    with storage_errors("keeping what a probe found: cannot write"):
        write_proof(outcome.build.place, digest, results)
    return results


def _claims(outcome: BuildOutcome) -> bool:
    """Return whether a build was made of a subject that claims something."""
    subject = outcome.subject
    return outcome.build is not None and subject.kind is not SubjectKind.TOOL and claims_anything(subject)


def _held_against(outcome: BuildOutcome, results: Sequence[ProbeResult]) -> BuildOutcome:
    """Remove the build from a subject one of whose claims does not hold."""
    subject = outcome.subject
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
