"""The claims of a client's ``[capabilities]``, and how each is put to the test by whoever has a room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.errors import ProbeFailed
from httpdyno.model import Counters, Subject, Workload

__all__ = ["PROBE_WEB", "ProbeCase", "ProbeResult", "claims_anything", "conclude", "probe_cases", "require_claims"]

PROBE_WEB: Final = "plain"
_HOST: Final = "https://probe.example"
_SEVERAL: Final = tuple(f"{_HOST}/bytes/{length}" for length in range(101, 109))
"""Several URLs of one host: a client that reuses connections needs one connection for all."""
_JSON: Final = f"{_HOST}/json"
_NO_JSON: Final = f"{_HOST}/plain"

Codes = Mapping[str, str]
"""The code that the client printed, by URL."""


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One crawl of a few URLs that shows whether one capability is there."""

    claim: str
    """Its name, one of ``model.cause.CLAIMS``; a ``known_failure`` may name it."""
    claimed: bool
    workload: Workload
    works: Callable[[Codes, Counters], bool]

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of the crawl."""
        urls = self.workload.urls
        return urls if isinstance(urls, tuple) else ()


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Whether a capability is claimed, and whether it is there."""

    claim: str
    claimed: bool
    works: bool
    known: str | None = None
    """The reason of the known failure that explains a difference."""

    @property
    def honest(self) -> bool:
        """Whether the claim is what the subject does, or a known failure says why not."""
        return self.claimed == self.works or self.known is not None

    def __str__(self) -> str:
        """One line for people."""
        claimed = "claimed" if self.claimed else "not claimed"
        works = "works" if self.works else "does not work"
        return f"{self.claim}: {claimed}, {works}" + (f" (known: {self.known})" if self.known else "")


def claims_anything(subject: Subject) -> bool:
    """Whether there is a claim to prove: an adapter that was written for something else makes none."""
    return any(case.claimed for case in probe_cases(subject))


def probe_cases(subject: Subject) -> tuple[ProbeCase, ...]:
    """Give a case for each capability that a client can have, claimed or not.

    HTTP/2 and HTTP/3 have no case: no web of this engine speaks them.
    """
    capabilities = subject.capabilities
    several = Workload(_SEVERAL)
    return (
        ProbeCase("http 1.1", "1.1" in capabilities.http, replace(several, http_version="1.1"), _only_http_1_1),
        ProbeCase("keepalive on", True in capabilities.keepalive, several, _reuses),
        ProbeCase("keepalive off", False in capabilities.keepalive, replace(several, keepalive=False), _never_reuses),
        ProbeCase("check json", "json" in capabilities.check, Workload((_JSON, _NO_JSON), check="json"), _checks_json),
    )


def conclude(subject: Subject, case: ProbeCase, codes: Codes, counters: Counters) -> ProbeResult:
    """Say what the run of a case shows.

    Parameters
    ----------
    subject : Subject
        Whose known failures may explain a difference.
    case : ProbeCase
        What was run.
    codes : mapping
        What the client printed; empty when it ended without a line, as it must for a setting that it cannot honour.
    counters : Counters
        What the origin saw.
    """
    works = case.works(codes, counters)
    failure = subject.known_failure(case.claim) if works != case.claimed else None
    return ProbeResult(case.claim, case.claimed, works, failure.reason if failure else None)


def require_claims(subject: Subject, results: tuple[ProbeResult, ...]) -> None:
    """Refuse a subject whose claims are not what it does.

    Raises
    ------
    ProbeFailed
        With every claim that differs.
    """
    wrong = [str(result) for result in results if not result.honest]
    if wrong:
        raise ProbeFailed(f"{subject.id}: {'; '.join(wrong)}; correct its [capabilities] or its adapter")


def _all_right(codes: Codes) -> bool:
    return set(codes) == set(_SEVERAL) and set(codes.values()) == {"200"}


def _only_http_1_1(codes: Codes, counters: Counters) -> bool:
    versions = {count.name for count in counters.http_versions or () if count.count}
    return _all_right(codes) and versions == {"1.1"}


def _reuses(codes: Codes, counters: Counters) -> bool:
    return _all_right(codes) and bool(counters.reused)


def _never_reuses(codes: Codes, counters: Counters) -> bool:
    return _all_right(codes) and counters.reused == 0


def _checks_json(codes: Codes, counters: Counters) -> bool:
    del counters
    return codes.get(_JSON) == "200" and codes.get(_NO_JSON) == "CheckFailed"
