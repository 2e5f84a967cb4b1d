"""A private authority and one certificate of it, made for the time of a test."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path


def authority_and_context(folder: Path, host: str) -> tuple[str, ssl.SSLContext]:
    """Return an authority's certificate as PEM, and a server's context for a host."""
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("test authority")
    authority = _certificate(name, name, key.public_key(), key, x509.BasicConstraints(True, 0))
    own = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    certificate = _certificate(_name(host), name, own.public_key(), key, names)
    pem = serialization.Encoding.PEM
    file = folder / "server.pem"
    file.write_bytes(
        own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return authority.public_bytes(pem).decode(), context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    start = datetime.now(UTC) - timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=2))
        .add_extension(extension, critical=False)
        .sign(signer, hashes.SHA256())
    )
