# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When certificates end: read from PEM, from DER, and from the annotations of a cluster's Secrets."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...module_utils.base.json_objects import mapping, text
from ...module_utils.base.times import time_of
from ...module_utils.joining.pkcs10 import CRYPTOGRAPHY_IMPORT_ERROR

if CRYPTOGRAPHY_IMPORT_ERROR is None:
    from cryptography import x509

NOT_BEFORE, NOT_AFTER = "auth.openshift.io/certificate-not-before", "auth.openshift.io/certificate-not-after"
"""Annotations of a Secret whose certificate an operator rotates (openshift/library-go, certrotation)."""


@dataclass(frozen=True)
class Validity:
    """From when to when a certificate is valid. ``begins_at`` is None where only the end is known."""

    begins_at: datetime | None
    ends_at: datetime


def validity_of_pem(content: bytes) -> list[Validity]:
    """Return the validity of each certificate in a PEM bundle, in order; none for content that is no such bundle."""
    try:
        return [_validity(certificate) for certificate in x509.load_pem_x509_certificates(content)]
    except ValueError:
        return []


def validity_of_der(content: bytes) -> Validity | None:
    """Return the validity of a certificate in DER; None for content that is none."""
    try:
        return _validity(x509.load_der_x509_certificate(content))
    except ValueError:
        return None


def validity_of_request(request: Mapping[str, Any]) -> Validity | None:
    """Return the validity of the certificate that was issued for a CertificateSigningRequest; None while there is none."""
    issued = text(mapping(request.get("status")).get("certificate"))
    if not issued:
        return None
    try:
        validity = validity_of_pem(base64.b64decode(issued, validate=True))
    except (binascii.Error, ValueError):
        return None
    return validity[0] if validity else None


def annotated_validity(secret: Mapping[str, Any]) -> Validity | None:
    """Return the validity of the certificate in a Secret, by the annotations of the operator that rotates it; None without them."""
    annotations = mapping(mapping(secret.get("metadata")).get("annotations"))
    ends_at = time_of(annotations.get(NOT_AFTER))
    return None if ends_at is None else Validity(time_of(annotations.get(NOT_BEFORE)), ends_at)


def _validity(certificate: Any) -> Validity:
    return Validity(certificate.not_valid_before_utc, certificate.not_valid_after_utc)
