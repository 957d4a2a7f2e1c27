"""The name of an error: the name of its innermost cause in httpx, OpenSSL or the system."""

import errno
import re
import socket
import ssl

import httpx

LOOKUP_ERRORS = {value: name for name, value in vars(socket).items() if name.startswith("EAI_")}


def cause_name(error: BaseException) -> str:
    """Name the innermost cause.

    Returns
    -------
    str
        ``CERTIFICATE_HAS_EXPIRED`` of OpenSSL, ``EAI_NONAME`` or ``ECONNREFUSED`` of the system, else the
        class of the error, such as ``TimeoutError`` or ``TooManyRedirects``.
    """
    inner = innermost(error)
    if isinstance(inner, TimeoutError) and inner.errno is None:
        return "TimeoutError"
    if isinstance(inner, socket.gaierror):
        return LOOKUP_ERRORS.get(inner.errno, "gaierror")
    if isinstance(inner, ssl.SSLCertVerificationError):
        return word(inner.verify_message)
    if isinstance(inner, ssl.SSLError):
        return inner.reason or "SSLError"
    if isinstance(inner, OSError) and inner.errno in errno.errorcode:
        return errno.errorcode[inner.errno]
    return type(inner).__name__


def innermost(error: BaseException) -> BaseException:
    """Follow the causes inwards, but not below a timeout (a cancellation) or an invalid URL."""
    while not isinstance(error, TimeoutError | httpx.InvalidURL):
        # httpcore raises its errors again "from None": the context still has the cause.
        inner = error.__cause__ or error.__context__
        # Attempts to several addresses fail together; the first error represents all.
        inner = inner.exceptions[0] if isinstance(inner, BaseExceptionGroup) else inner
        if inner is None:
            break
        error = inner
    return error


def word(message: str) -> str:
    """Return a message of OpenSSL in the style of a name: ``certificate has expired``, ``Hostname mismatch, ...``."""
    head = message.split(",")[0]
    return re.sub(r"[^A-Z0-9]+", "_", head.upper()).strip("_") or "CERTIFICATE_VERIFY_FAILED"
