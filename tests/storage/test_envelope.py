import os

import pytest

from tollkeeper.storage.envelope import CannotOpen, EnvelopeKeys, seal, unseal

KEYS = EnvelopeKeys({1: os.urandom(32)})
SECRET = "a provider's key"


def test_an_envelope_opens_with_the_key_that_sealed_it() -> None:
    assert unseal(seal(SECRET, KEYS, sealed_for="one"), KEYS, sealed_for="one") == SECRET


def test_a_key_that_was_added_seals_nothing_before_it_is_chosen() -> None:
    added = EnvelopeKeys({**KEYS.by_version, 2: os.urandom(32)})
    assert unseal(seal(SECRET, added, sealed_for="one"), KEYS, sealed_for="one") == SECRET


def test_after_a_rotation_old_envelopes_still_open_and_new_ones_use_the_new_key() -> None:
    rotated = EnvelopeKeys({**KEYS.by_version, 2: os.urandom(32)}, chosen=2)
    assert unseal(seal(SECRET, KEYS, sealed_for="one"), rotated, sealed_for="one") == SECRET
    with pytest.raises(CannotOpen):
        unseal(seal(SECRET, rotated, sealed_for="one"), KEYS, sealed_for="one")


def test_an_envelope_does_not_open_for_another_name() -> None:
    with pytest.raises(CannotOpen):
        unseal(seal(SECRET, KEYS, sealed_for="one"), KEYS, sealed_for="two")


def test_an_altered_or_cut_envelope_does_not_open() -> None:
    envelope = seal(SECRET, KEYS, sealed_for="one")
    for position in range(len(envelope)):
        altered = bytearray(envelope)
        altered[position] ^= 1
        with pytest.raises(CannotOpen):
            unseal(bytes(altered), KEYS, sealed_for="one")
        with pytest.raises(CannotOpen):
            unseal(envelope[:position], KEYS, sealed_for="one")


def test_the_same_secret_never_looks_the_same() -> None:
    assert seal(SECRET, KEYS, sealed_for="one") != seal(SECRET, KEYS, sealed_for="one")
