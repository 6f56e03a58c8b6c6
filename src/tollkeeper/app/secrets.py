"""The secrets of the service, and what follows from them."""

import hmac

from tollkeeper.core.calls.digests import CallDigests
from tollkeeper.core.keys import Peppers
from tollkeeper.settings import Settings, keys_by_version, peppers_in
from tollkeeper.storage.envelope import EnvelopeKeys


def peppers_of(settings: Settings) -> Peppers:
    return Peppers(peppers_in(settings.peppers)[0], settings.pepper_in_use)


def service_mark_of(settings: Settings) -> bytes:
    """The same on every node of this service, and on no other's; it outlives rotations. It follows from the oldest
    pepper; when that one is retired, the mark itself takes its place in the setting."""
    by_version, mark = peppers_in(settings.peppers)
    return mark or hmac.digest(by_version[min(by_version)], b"calls that are known again", "sha256")


def known_secrets_of(settings: Settings) -> list[str]:
    """Which versions are known here, each with a few digits by which equal secrets are told from others."""
    kinds = {"pepper": peppers_of(settings).by_version, "envelope": envelope_keys_of(settings).by_version}
    told = [(f"{kind}:{version}", kinds[kind][version]) for kind in kinds for version in sorted(kinds[kind])]
    told.append(("mark", service_mark_of(settings)))
    return [f"{name}:{hmac.digest(secret, b'told apart', 'sha256').hex()[:8]}" for name, secret in told]


def call_digests_of(settings: Settings) -> CallDigests:
    """Under the mark: another pepper must not let a call be paid for twice that was made just before."""
    return CallDigests(service_mark_of(settings))


def envelope_keys_of(settings: Settings) -> EnvelopeKeys:
    by_version = keys_by_version(settings.envelope_keys, least_bytes=32, most_bytes=32)
    return EnvelopeKeys(by_version, settings.envelope_key_in_use)


def loop_mark_of(settings: Settings) -> str:
    return mark_of(settings, b"loop")


def mark_of(settings: Settings, purpose: bytes) -> str:
    """What follows from the service's mark, for one purpose."""
    return hmac.digest(service_mark_of(settings), b"mark for " + purpose, "sha256").hex()[:32]
