"""Every call with canaries: all kinds, at each vendor, streamed and whole."""

from collections.abc import Iterable, Iterator

from proofs.privacy.canaries import Canaries
from proofs.privacy.canary_targets import Targets
from proofs.privacy.chat_calls import chat_calls
from proofs.privacy.dialect_calls import count_calls, message_calls, response_calls
from proofs.privacy.lookup_calls import balance_calls, quote_calls
from proofs.privacy.media_calls import edit_calls, embedding_calls, image_calls, speech_calls, upload_calls
from proofs.privacy.odd_calls import odd_calls
from proofs.privacy.raw_http import Call

# Who speaks each dialect natively, and who is told in chat what was asked in it.
SPEAKERS = ("anthropic", "openai")


def every_call(targets: Targets, canaries: Canaries, vendors: Iterable[str]) -> Iterator[Call]:
    models, key = targets.models, targets.key
    for streamed in (False, True):
        for vendor in vendors:
            yield from chat_calls(canaries, models[vendor], key, streamed=streamed)
        for vendor in SPEAKERS:
            yield from message_calls(canaries, models[vendor], key, streamed=streamed)
            yield from response_calls(canaries, models[vendor], key, streamed=streamed)
    for vendor in SPEAKERS:
        yield from count_calls(canaries, models[vendor], key)
    yield from embedding_calls(canaries, models["embedding"], key)
    yield from image_calls(canaries, models["image"], key)
    yield from edit_calls(canaries, models["image"], key)
    yield from speech_calls(canaries, models["speech"], key)
    yield from upload_calls(canaries, models["transcription"], key)
    yield from quote_calls(canaries, models["openai"], models["embedding"], key)
    yield from balance_calls(canaries, key)
    yield from odd_calls(canaries, models["openai"], key)
