"""Why something went wrong, by name: what a ``known_failure`` may speak of."""

from typing import Final

from httpdyno.errors import InvalidValue, suggestion

__all__ = [
    "CASES",
    "CLAIMS",
    "FAULTS",
    "HABITS",
    "HAZARDS",
    "JUDGED_CAUSES",
    "SERVER_CLAIMS",
    "WEB_CAUSES",
    "check_case",
]

FAULTS: Final = (
    "nxdomain",
    "servfail",
    "refused",
    "blackhole",
    "stall_after_accept",
    "reset_after_accept",
    "stall_tls",
    "expired_certificate",
    "wrong_host",
    "self_signed",
    "tls_alert",
    "stall_headers",
    "empty_reply",
    "reset_before_headers",
    "garbage_head",
    "redirect_loop",
    "goaway",
    "stall_body",
    "drip_body",
    "reset_mid_body",
    "stream_reset",
    "short_body",
    "short_chunked",
)
"""The faults of a web's hosts, as the engine names them."""
WEB_CAUSES: Final = (
    "too_many_redirects",
    "timeout",
    "invalid_url",
    "invalid_name",
    "unreachable",
    "elsewhere",
    "check_failed",
    "without_http2",
)
"""What else makes the engine expect an error."""
HAZARDS: Final = ("interim_response", "goaway_after_answer")
"""What of an honest answer some clients get wrong: a 103 taken for the final answer, an orderly end over HTTP/2."""
JUDGED_CAUSES: Final = ("timeout_when_saturated", "timeout_over_link")
"""Causes that only the judge can name, from what a trial left."""
CLAIMS: Final = ("http 1.1", "http 2", "keepalive on", "keepalive off", "check json", "harness timeit")
"""Claims of a client's ``[capabilities]`` that the probe puts to the test."""
SERVER_CLAIMS: Final = (
    "endpoint plain",
    "endpoint json",
    "endpoint workloads",
    "endpoint timeout",
    "threads one",
    "threads any",
    "workers one",
    "workers any",
)
"""Claims of a server's, alike."""
HABITS: Final = ("memory_growth",)
"""What shows in a long crawl and in no single answer: memory that grows with the URLs visited."""
CASES: Final = (*FAULTS, *WEB_CAUSES, *HAZARDS, *JUDGED_CAUSES, *CLAIMS, *SERVER_CLAIMS, *HABITS)
"""All of them."""
_LISTED: Final = "docs/concepts/web.md and subjects/CONTRACT.md list those that there are"


def check_case(case: str) -> None:
    """Refuse a case that nothing can ever come up with."""
    if case not in CASES:
        raise InvalidValue(f"known_failure.case: unknown case {case!r}; {suggestion(case, CASES, otherwise=_LISTED)}")
