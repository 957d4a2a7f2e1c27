"""TLS of the client: OpenSSL with the names, the stapled responses and the extensions of a server checked here."""

import contextlib
import datetime
import ipaddress
import struct

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import ocsp
from OpenSSL import SSL, crypto

from .errors import FetchError, Untrusted
from .mutation import wrong

READ_BYTES = 64 * 1024
_NOT_YET_VALID, _EXPIRED = 9, 10
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL."""
_HANDSHAKE_RECORD, _CLIENT_HELLO, _SERVER_HELLO = 22, 1, 2
_UNASKED = {44, 0xFF01}
"""Extensions that a server may send to any client: cookie (RFC 8446, 4.2.2) and renegotiation_info (RFC 5746)."""


class Tls:
    """The client's side of one connection, without I/O."""

    def __init__(self, name: str, version: str) -> None:
        self._name = name
        self._asked_for_certificate = False
        self._sent, self._received = b"", b""
        """Bytes of the handshake, until the server's hello is checked."""
        self._is_hello_checked = False
        context = SSL.Context(SSL.TLS_METHOD)
        context.set_default_verify_paths()
        context.set_min_proto_version(SSL.TLS1_3_VERSION if wrong("knows-tls-1-3-only") else SSL.TLS1_2_VERSION)
        if wrong("knows-tls-1-2-only"):
            context.set_max_proto_version(SSL.TLS1_2_VERSION)
        context.set_verify(SSL.VERIFY_NONE if wrong("trusts-every-certificate") else SSL.VERIFY_PEER, self._verify)
        context.set_alpn_protos([b"h2" if version == "2" else b"http/1.1"])
        context.set_info_callback(self._note_state)
        context.set_ocsp_client_callback(self._verify_status)
        self._tls = SSL.Connection(context, None)
        self._tls.set_connect_state()
        self._tls.request_ocsp()
        if not _is_address(name):
            self._tls.set_tlsext_host_name(name.encode())

    @property
    def protocol(self) -> str:
        """The protocol that the server chose by ALPN; empty: none."""
        return self._tls.get_alpn_proto_negotiated().decode()

    def shake_hands(self) -> bool:
        """Take the handshake as far as the bytes of the peer allow; return whether it is complete.

        Raises
        ------
        Untrusted, FetchError
            If the certificate is refused, or the handshake fails.
        """
        self._check_hello()
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            return False
        except SSL.Error as error:
            reason = str(error) or "the connection ended"
            raise (Untrusted if "certificate verify failed" in reason else FetchError)(reason) from error
        self._check_handshake()
        return True

    def take_outgoing(self) -> bytes:
        """Return the bytes for the peer."""
        try:
            data = self._tls.bio_read(1024 * 1024)
        except SSL.WantReadError:
            return b""
        if not self._is_hello_checked:
            self._sent += data
        return data

    def add_incoming(self, data: bytes) -> None:
        """Add bytes of the peer; none: its end."""
        if not data:
            self._tls.bio_shutdown()
            return
        if not self._is_hello_checked:
            self._received += data
        self._tls.bio_write(data)

    def write(self, data: bytes) -> None:
        """Encrypt data."""
        if data:
            self._tls.sendall(data)

    def read(self) -> bytes | None:
        """Return decrypted bytes, empty after close_notify, None if more bytes of the peer are needed.

        Raises
        ------
        EOFError
            If the peer ended without close_notify, or broke the protocol.
        """
        try:
            return self._tls.recv(READ_BYTES)
        except SSL.WantReadError:
            return None
        except SSL.ZeroReturnError:
            return b""
        except SSL.Error as error:
            raise EOFError from error

    def _note_state(self, tls: SSL.Connection, where: int, code: int) -> None:
        del where, code
        self._asked_for_certificate |= b"read server certificate request" in tls.get_state_string()

    def _verify(self, tls: SSL.Connection, certificate: crypto.X509, error: int, depth: int, is_good: int) -> bool:
        """Accept or refuse a certificate of the chain; the server's own, at depth 0, comes last."""
        del tls
        if wrong("trusts-every-certificate"):
            return True
        if wrong("ignores-validity") and error in (_NOT_YET_VALID, _EXPIRED):
            return True
        if is_good and depth == 0 and not wrong("does-not-compare-names"):
            return _is_named(certificate.to_cryptography(), self._name)
        return bool(is_good)

    def _verify_status(self, tls: SSL.Connection, response: bytes, data: object) -> bool:
        """Refuse a stapled response that does not confirm the certificate, and the lack of one that must be there."""
        del data
        if wrong("ignores-stapled-responses") or wrong("trusts-every-certificate"):
            return True
        certificate, *issuers = tls.get_verified_chain(as_cryptography=True) or []
        if not response:
            return not _must_staple(certificate)
        return not wrong("refuses-stapled-responses") and _is_confirmed(certificate, issuers[:1], response)

    def _check_hello(self) -> None:
        """Refuse a server's hello with an extension that the client did not send, which OpenSSL ignores."""
        if self._is_hello_checked:
            return
        offered, answered = _extensions(self._sent, _CLIENT_HELLO), _extensions(self._received, _SERVER_HELLO)
        if offered is None or answered is None:
            return
        self._is_hello_checked = True
        if unasked := answered - offered - _UNASKED:
            raise FetchError(f"the server sent extensions that were not offered: {unasked}")

    def _check_handshake(self) -> None:
        """Refuse, as a client with a mistake does, what a right client accepts."""
        certificate = self._tls.get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        extensions = certificate.extensions
        usages = [extension for extension in extensions if isinstance(extension.value, x509.KeyUsage)]
        unknown = [extension for extension in extensions if isinstance(extension.value, x509.UnrecognizedExtension)]
        if (
            (wrong("refuses-rsa-keys") and not isinstance(certificate.public_key(), ec.EllipticCurvePublicKey))
            or (wrong("requires-key-usage") and not usages)
            or (wrong("refuses-unknown-extensions") and unknown)
            or (wrong("knows-no-intermediates") and len(self._tls.get_verified_chain() or []) > 2)
        ):
            raise Untrusted("another certificate")
        if wrong("refuses-certificate-requests") and self._asked_for_certificate:
            raise FetchError("no certificate to send")
        if wrong("requires-alpn") and not self.protocol:
            raise FetchError("no ALPN")


def _is_address(name: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


def _is_named(certificate: x509.Certificate, name: str) -> bool:
    """Return whether a certificate is for a name or address (RFC 9525, section 6): alternative names alone count."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    if _is_address(name):
        return ipaddress.ip_address(name) in names.get_values_for_type(x509.IPAddress)
    wanted = name.lower().removesuffix(".").split(".")
    for pattern in names.get_values_for_type(x509.DNSName):
        first, *rest = pattern.lower().removesuffix(".").split(".")
        if rest == wanted[1:] and (first == wanted[0] or (first == "*" and len(rest) > 1)):
            return True
    return False


def _must_staple(certificate: x509.Certificate) -> bool:
    with contextlib.suppress(x509.ExtensionNotFound):
        features = certificate.extensions.get_extension_for_class(x509.TLSFeature).value
        return x509.TLSFeatureType.status_request in features
    return False


def _is_confirmed(certificate: x509.Certificate, issuers: list[x509.Certificate], response: bytes) -> bool:
    """Return whether a response of OCSP, signed by the issuer, says that a certificate is good now (RFC 6960, 3.2)."""
    status = ocsp.load_der_ocsp_response(response)
    now = datetime.datetime.now(datetime.UTC)
    if (
        status.response_status != ocsp.OCSPResponseStatus.SUCCESSFUL
        or status.certificate_status != ocsp.OCSPCertStatus.GOOD
        or status.serial_number != certificate.serial_number
        or status.this_update_utc > now
        or (status.next_update_utc or now) < now
        or status.signature_hash_algorithm is None
    ):
        return False
    for issuer in issuers:
        key = issuer.public_key()
        if isinstance(key, ec.EllipticCurvePublicKey):
            with contextlib.suppress(InvalidSignature):
                key.verify(status.signature, status.tbs_response_bytes, ec.ECDSA(status.signature_hash_algorithm))
                return True
    return False


def _extensions(data: bytes, wanted: int) -> set[int] | None:
    """Return the types of the extensions of a hello at the start of a stream; None: it is not there, or not whole."""
    message = b""
    while len(data) >= 5 and data[0] == _HANDSHAKE_RECORD:
        length = struct.unpack("!H", data[3:5])[0]
        message, data = message + data[5 : 5 + length], data[5 + length :]
    if len(message) < 4 or message[0] != wanted or len(message) < 4 + int.from_bytes(message[1:4]):
        return None
    hello = message[4 : 4 + int.from_bytes(message[1:4])]
    # The version and the random number, and the identifier of a session.
    hello = hello[34:]
    hello = hello[1 + hello[0] :]
    if wanted == _CLIENT_HELLO:
        hello = hello[2 + struct.unpack("!H", hello[:2])[0] :]
        hello = hello[1 + hello[0] :]
    else:
        hello = hello[3:]
    hello = hello[2:]
    found = set()
    while len(hello) >= 4:
        kind, length = struct.unpack("!HH", hello[:4])
        found.add(kind)
        hello = hello[4 + length :]
    return found
