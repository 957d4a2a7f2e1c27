"""The name of an error: libcurl's or the system's name of it."""

import errno

from curl_cffi import CurlECode, CurlInfo
from curl_cffi.requests.exceptions import RequestException


def cause_name(error: Exception) -> str:
    """Name the cause of a failed request.

    Returns
    -------
    str
        ``ECONNREFUSED`` of the system when it refused to connect, else libcurl's name, such as ``OPERATION_TIMEDOUT``,
        or the class of an error that is not from libcurl.
    """
    if not isinstance(error, RequestException) or not error.code:
        return type(error).__name__
    if error.code == CurlECode.COULDNT_CONNECT and error.response is not None:
        number = error.response.infos.get(CurlInfo.OS_ERRNO)
        return errno.errorcode.get(number, "COULDNT_CONNECT")
    return CurlECode(error.code).name
