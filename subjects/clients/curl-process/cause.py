"""The name of an error: libcurl's name of the exit status of curl."""

NAMES = {
    1: "CURLE_UNSUPPORTED_PROTOCOL",
    3: "CURLE_URL_MALFORMAT",
    5: "CURLE_COULDNT_RESOLVE_PROXY",
    6: "CURLE_COULDNT_RESOLVE_HOST",
    7: "CURLE_COULDNT_CONNECT",
    8: "CURLE_WEIRD_SERVER_REPLY",
    16: "CURLE_HTTP2",
    18: "CURLE_PARTIAL_FILE",
    23: "CURLE_WRITE_ERROR",
    27: "CURLE_OUT_OF_MEMORY",
    28: "CURLE_OPERATION_TIMEDOUT",
    35: "CURLE_SSL_CONNECT_ERROR",
    47: "CURLE_TOO_MANY_REDIRECTS",
    52: "CURLE_GOT_NOTHING",
    55: "CURLE_SEND_ERROR",
    56: "CURLE_RECV_ERROR",
    60: "CURLE_PEER_FAILED_VERIFICATION",
    61: "CURLE_BAD_CONTENT_ENCODING",
    77: "CURLE_SSL_CACERT_BADFILE",
    92: "CURLE_HTTP2_STREAM",
}
"""The errors of a GET, from the table in libcurl-errors(3); an error without a name there is printed as its number."""


def cause_name(exit_status: int) -> str:
    """Name the cause that curl's exit status means.

    Returns
    -------
    str
        ``CURLE_COULDNT_RESOLVE_HOST``, ``CURLE_43`` where the table has no name, ``Signal9`` when a signal ended curl.
    """
    if exit_status < 0:
        return f"Signal{-exit_status}"
    return NAMES.get(exit_status, f"CURLE_{exit_status}")
