"""WebAuthn: what a browser is asked, and whether what a device answers is right.

Rules of this file
1. The device must have made sure who holds it (user verification). So a passkey counts as both factors.
2. An answer must be to the very challenge that was given out, made at our address, and signed by the key on record.
3. A device that counts must count on: where it does not, there is a copy of it. One that never counts says 0.
4. Who built the device is not asked (attestation), and what is told of it is not read: no certificate of a stranger's
   is parsed here.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    encode_cbor,
    parse_cbor,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    AuthenticatorTransport,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from tollkeeper.core.people.passkeys import (
    MadePasskey,
    PasskeyNotAdded,
    PasskeyRecord,
    PasskeyRefused,
    RelyingParty,
)

TIMEOUT_MILLISECONDS = 5 * 60 * 1000
# WebAuthn's own bound, and more than RSA with 4,096 bits takes.
CREDENTIAL_ID_BYTES_MOST = 1_023
PUBLIC_KEY_BYTES_MOST = 1_024
TRANSPORTS = {transport.value: transport for transport in AuthenticatorTransport}
# What the library lets through where bytes are not what they should be.
NOT_AS_IT_SHOULD_BE = (WebAuthnException, LookupError, TypeError, ValueError, RecursionError)


class _Response(msgspec.Struct, rename="camel"):
    client_data_json: str = msgspec.field(name="clientDataJSON")
    attestation_object: str = ""
    authenticator_data: str = ""
    signature: str = ""
    user_handle: str = ""
    transports: list[str] = []


class _AuthenticatorAnswer(msgspec.Struct, rename="camel"):
    id: str
    raw_id: str
    type: str
    response: _Response

    def as_read(self, **of_response: str) -> dict[str, Any]:
        """The answer as the webauthn library takes it, without members that are not checked here."""
        response = {"clientDataJSON": self.response.client_data_json, **of_response}
        return {"id": self.id, "rawId": self.raw_id, "type": self.type, "response": response}


decode_answer = msgspec.json.Decoder(_AuthenticatorAnswer).decode


def creation_options(
    party: RelyingParty, *, challenge: str, user_handle: bytes, email: str, there: Sequence[PasskeyRecord]
) -> str:
    """Options for the browser, as JSON: make a passkey that can be found without an e-mail, on a device that has none
    of `there`."""
    options = generate_registration_options(
        rp_id=party.host,
        rp_name=party.name,
        user_id=user_handle,
        user_name=email,
        challenge=challenge.encode(),
        timeout=TIMEOUT_MILLISECONDS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            PublicKeyCredentialDescriptor(
                id=passkey.credential_id, transports=[TRANSPORTS[name] for name in passkey.transports]
            )
            for passkey in there
        ],
    )
    return options_to_json(options)


def request_options(party: RelyingParty, *, challenge: str) -> str:
    """Options for the browser, as JSON: sign this with any passkey of ours."""
    options = generate_authentication_options(
        rp_id=party.host,
        challenge=challenge.encode(),
        timeout=TIMEOUT_MILLISECONDS,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options)


def made_passkey(text: str, party: RelyingParty, *, challenge: str) -> MadePasskey:
    """What the device made. Raise PasskeyNotAdded."""
    try:
        answer = decode_answer(text)
        made = verify_registration_response(
            credential=answer.as_read(attestationObject=_without_statement(answer.response.attestation_object)),
            expected_challenge=challenge.encode(),
            expected_rp_id=party.host,
            expected_origin=party.origin,
            require_user_verification=True,
        )
        # A key that cannot be loaded would be found out at the first sign-in.
        decoded_public_key_to_cryptography(decode_credential_public_key(made.credential_public_key))
    except NOT_AS_IT_SHOULD_BE:
        raise PasskeyNotAdded from None
    if len(made.credential_id) > CREDENTIAL_ID_BYTES_MOST or len(made.credential_public_key) > PUBLIC_KEY_BYTES_MOST:
        raise PasskeyNotAdded
    return MadePasskey(
        credential_id=made.credential_id,
        public_key=made.credential_public_key,
        sign_count=made.sign_count,
        transports=tuple(sorted(set(answer.response.transports) & TRANSPORTS.keys())),
    )


def credential_of(text: str) -> bytes:
    """The id of the passkey that an answer names. Raise PasskeyRefused."""
    try:
        return base64url_to_bytes(decode_answer(text).raw_id)[: CREDENTIAL_ID_BYTES_MOST + 1]
    except NOT_AS_IT_SHOULD_BE:
        raise PasskeyRefused from None


def next_sign_count(text: str, party: RelyingParty, passkey: PasskeyRecord, *, challenge: str) -> int:
    """Verify that this passkey gave this answer, and return its sign count from now on. Raise PasskeyRefused."""
    try:
        answer = decode_answer(text)
        found = verify_authentication_response(
            credential=answer.as_read(
                authenticatorData=answer.response.authenticator_data, signature=answer.response.signature
            ),
            expected_challenge=challenge.encode(),
            expected_rp_id=party.host,
            expected_origin=party.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
        whose = base64url_to_bytes(answer.response.user_handle)
    except NOT_AS_IT_SHOULD_BE:
        raise PasskeyRefused from None
    if found.credential_id != passkey.credential_id or whose != passkey.user_handle:
        raise PasskeyRefused
    return found.new_sign_count


def _without_statement(attestation_object: str) -> str:
    """As browsers are asked to send it: with nothing about who built the device."""
    told = parse_cbor(base64url_to_bytes(attestation_object))
    return bytes_to_base64url(encode_cbor({"fmt": "none", "attStmt": {}, "authData": told["authData"]}))
