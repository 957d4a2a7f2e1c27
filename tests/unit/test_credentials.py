"""Credentials are replaced; all else is unchanged."""

import pytest

from httpdyno.cli.place import without_credentials


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://me:planted@a.test/x", "http://***@a.test/x"),
        ("http://me:pl@nted@a.test/x", "http://***@a.test/x"),
        ("http://planted@a.test", "http://***@a.test"),
        ("Authorization: Bearer planted", "Authorization: ***"),
        ("authorization:Basic planted", "authorization:***"),
        ("--header=X-Api-Key: planted planted", "--header=X-Api-Key: ***"),
        ("-HCookie: a=planted; b=planted", "-HCookie: ***"),
        ("Accept: */*\nProxy-Authorization: Basic planted\nX-A: b", "Accept: */*\nProxy-Authorization: ***\nX-A: b"),
        ("http://a.test/?a=b&access_token=planted&c=d", "http://a.test/?a=b&access_token=***&c=d"),
        ("user=me&password=planted", "user=me&password=***"),
        ('{"user": "me", "client_secret": "plan\\"ted"}', '{"user": "me", "client_secret": ***}'),
    ],
)
def test_a_credential_is_replaced(text: str, expected: str) -> None:
    assert without_credentials(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://a.test/x@y?z=@w",
        "https://a.test:8443/tokens/1",
        "Accept: text/html",
        "--rate",
        "a=b&c=d",
        '{"user": "me"}',
        "httpdyno bench --web top-sites",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert without_credentials(text) == text
