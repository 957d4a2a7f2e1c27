"""The name of an error: libcurl's or the system's name of it."""

import errno

import pycurl

ALIASES = {"E_OPERATION_TIMEOUTED", "E_SSL_CACERT", "E_SSL_PEER_CERTIFICATE"}
"""Old names of errors that have been renamed."""
NAMES = {
    getattr(pycurl, name): name.removeprefix("E_")
    for name in dir(pycurl)
    if name.startswith("E_") and not name.startswith("E_MULTI_") and name not in ALIASES
}


def cause_name(error: Exception, curl: pycurl.Curl) -> str:
    """Name the cause of a failed transfer.

    Returns
    -------
    str
        ``ECONNREFUSED`` of the system when it refused to connect, else libcurl's name, such as ``OPERATION_TIMEDOUT``,
        or the class of an error that is not from libcurl.
    """
    if not isinstance(error, pycurl.error):
        return type(error).__name__
    code = error.args[0]
    if code == pycurl.E_COULDNT_CONNECT:
        number = curl.getinfo(pycurl.OS_ERRNO)
        return errno.errorcode.get(number, NAMES[code])
    return NAMES.get(code, f"CURLE_{code}")
