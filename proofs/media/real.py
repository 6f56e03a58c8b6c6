"""A real round trip: one engine speaks through the gateway, another writes down what came. By hand, not in CI."""

import io
import math
import wave
from contextlib import ExitStack
from fractions import Fraction

from proofs.media.acts import ACCOUNT, MODELS
from proofs.media.case import SPEECH, TRANSCRIPTIONS
from proofs.media.engines.running import Engines, share_of_words, words_of
from proofs.media.http_call import Answer, Order, call, form_order, json_order
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.patience import wait_until
from proofs.rig.proof import Run, say
from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.casting import cast
from proofs.rig.sdks.catalog import furnish
from proofs.rig.sdks.theatre import receipts
from tools.node import Node

SENTENCE = "A gateway stands between the callers and the providers, and it keeps honest books."
# 82 characters at 7.5 quota.
SPEECH_CHARGED = 615_000_000
SECOND_COSTS = 50_000_000
ENOUGH = Fraction(4, 5)


def main(run: Run) -> int:
    run.expect("spoken_s", "words", "charged", "books")
    with ExitStack() as stack:
        say("loading the engines")
        engines = stack.enter_context(Engines())
        settings = deployment(stack)
        furnish(settings, engines.base.removesuffix("/v1"), MODELS, [ACCOUNT])
        (part,) = cast(settings, {"real": {"round trip": Act()}})
        base = f"{stack.enter_context(Node(settings)).base}/v1"
        spoken = answered(base, part.key, speech_order())
        written = answered(base, part.key, transcription_order(spoken.body))
        say(f"said  {SENTENCE}")
        say(f"heard {written.json()['text']}")
        seconds = length_seconds(spoken.body)
        expected = {
            spoken.request_id: SPEECH_CHARGED,
            written.request_id: math.ceil(seconds) * SECOND_COSTS,
        }
        charged = charges(settings["TOLLKEEPER_DATABASE_URL"], len(expected))
        is_clean = books_are_clean(settings)
        share = share_of_words(SENTENCE, written.json()["text"])
    words = len(words_of(SENTENCE))
    is_exact = charged == expected
    if not is_exact:
        say(f"charged {charged}, expected {expected}")
    run.figures |= {
        "spoken_s": f"{float(seconds):.3f}",
        "words": f"{share * words}/{words}",
        "charged": "exact" if is_exact else "wrong",
        "books": "clean" if is_clean else "wrong",
    }
    return 0 if share >= ENOUGH and is_exact and is_clean else 1


def speech_order() -> Order:
    wish = {"model": "tts-1", "voice": "alloy", "input": SENTENCE, "response_format": "wav"}
    return json_order(SPEECH, wish)


def transcription_order(sound: bytes) -> Order:
    return form_order(TRANSCRIPTIONS, {"model": "whisper-1", "language": "en"}, "spoken.wav", sound)


def answered(base: str, key: str, order: Order) -> Answer:
    answer = call(base, key, order)
    assert answer.status == 200, answer
    return answer


def length_seconds(sound: bytes) -> Fraction:
    """By the library that comes with Python, and not by the code under test."""
    with wave.open(io.BytesIO(sound)) as file:
        return Fraction(file.getnframes(), file.getframerate())


def charges(database_url: str, count: int) -> dict[str, int]:
    """Of every call, once so many are settled."""
    wait_until(lambda: len(receipts(database_url)) >= count)
    return {receipt.request_id: receipt.charged for receipt in receipts(database_url)}
