"""The rows of the operations are typed: what reads an order, measures it and answers it belongs to the same order."""

from typing import TYPE_CHECKING, Any

import pytest

from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.calls.media import read_speech
from tollkeeper.edge import calls
from tollkeeper.edge.calls import Relayed
from tollkeeper.relay import operations
from tollkeeper.relay.answers.media import ImageAnswer, SpeechAnswer
from tollkeeper.relay.operations import (
    CHAT,
    IMAGE,
    SPEECH,
    TRANSCRIPTION,
    Operation,
    ask_image,
    ask_speech,
    chat_answer,
)

if TYPE_CHECKING:
    # Each of these is wrong, and mypy says so. Where it did not, it would say that the comment is not needed.
    Operation(kind=SPEECH.kind, read=read_speech, ask=ask_speech, answer=ImageAnswer)  # type: ignore[misc]
    Operation(kind=SPEECH.kind, read=read_speech, ask=ask_image, answer=SpeechAnswer)  # type: ignore[misc]
    Operation(kind=SPEECH.kind, read=read_chat, ask=ask_speech, answer=SpeechAnswer)  # type: ignore[misc]
    Operation(kind=IMAGE.kind, read=read_chat, ask=ask_image, answer=chat_answer)  # type: ignore[misc]
    Relayed(TRANSCRIPTION, calls._json_body)  # type: ignore[arg-type]
    Relayed(CHAT, calls._upload)  # type: ignore[arg-type]

ROWS = {name: row for name, row in vars(operations).items() if isinstance(row, Operation)}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_every_operation_has_an_endpoint(row: Operation[Any, Any]) -> None:
    assert [each for each in vars(calls).values() if isinstance(each, Relayed) and each.operation is row]
