"""A throw-away certificate for localhost, its own authority, valid for a day."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAMES = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]


def issue() -> tuple[ssl.SSLContext, str]:
    """(a server's TLS context, the certificate as PEM: what clients must trust)."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = _sign(key).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        both = Path(folder, "both.pem")  # OpenSSL reads a chain from a file alone
        both.touch(mode=0o600)
        both.write_bytes(secret + pem)
        context.load_cert_chain(both)
    return context, pem.decode()


def _sign(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    unsigned = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(_NAMES), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(identifier, critical=False)
    )
    return unsigned.sign(key, hashes.SHA256())
