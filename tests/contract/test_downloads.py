"""Which failed builds are skipped: those without their downloads, and no others."""

import pytest

from contract.downloads import is_no_download


@pytest.mark.parametrize(
    "line",
    [
        'go: github.com/a/b@v1.2.3: Get "https://proxy.golang.org/github.com/a/b": dial tcp: i/o timeout',
        "npm error code ENOTFOUND",
        "npm error code ECONNRESET",
        "npm error 503 Service Unavailable - GET https://registry.npmjs.org/got: HTTP 503",
        "warning: spurious network error (3 tries remaining): [28] Timeout was reached",
        "error: Failed to fetch: `https://pypi.org/simple/aiohttp/`",
        "  Caused by: dns error: failed to lookup address information: Temporary failure in name resolution",
        "error NU1301: Unable to load the service index for source https://api.nuget.org/v3/index.json.",
        "Could not resolve host: repo.maven.apache.org",
        "curl: (22) The requested URL returned error: 502",
        "error: error sending request for url (https://jsr.io/@std/async/meta.json)",
    ],
)
def test_what_cannot_be_downloaded_is_no_fault_of_the_subject(line: str) -> None:
    assert is_no_download(["building", line, "failed"])


@pytest.mark.parametrize(
    "line",
    [
        "main.go:12:2: undefined: client",
        "error[E0425]: cannot find value `timeout` in this scope",
        "main.c:40:5: error: implicit declaration of function 'curl_easy_init'",
        "Main.java:17: error: incompatible types: int cannot be converted to String",
        "error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.",
        "error: the lock file uv.lock is not up to date; run `uv lock`",
        "main.rs:503:9: error: expected `;`",
    ],
)
def test_what_does_not_build_is(line: str) -> None:
    assert not is_no_download(["building", line, "failed"])
