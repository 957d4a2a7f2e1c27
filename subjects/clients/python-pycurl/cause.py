"""The name of an error: what libcurl or the system calls it."""

import errno

import pycurl

ALIASES = {"E_OPERATION_TIMEOUTED", "E_SSL_CACERT", "E_SSL_PEER_CERTIFICATE"}
"""Older names of errors that have others."""
NAMES = {
    getattr(pycurl, name): name.removeprefix("E_")
    for name in dir(pycurl)
    if name.startswith("E_") and not name.startswith("E_MULTI_") and name not in ALIASES
}


def cause_name(error: Exception, curl: pycurl.Curl) -> str:
    """Name why a transfer failed.

    Returns
    -------
    str
        ``ECONNREFUSED`` of the system when it refused to connect, else libcurl's name, such as ``OPERATION_TIMEDOUT``,
        or the class of an error that is none of libcurl's.
    """
    if not isinstance(error, pycurl.error):
        return type(error).__name__
    code = error.args[0]
    if code == pycurl.E_COULDNT_CONNECT:
        number = curl.getinfo(pycurl.OS_ERRNO)
        return errno.errorcode.get(number, NAMES[code])
    return NAMES.get(code, f"CURLE_{code}")
