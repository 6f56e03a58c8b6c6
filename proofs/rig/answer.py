"""An answer of the gateway as its caller saw it: read from raw bytes, however many of them came."""

from enum import StrEnum

import msgspec

KEEP_ALIVE = b": keep-alive\n\n"


class Tail(StrEnum):
    """What an answer ends with."""

    NOTHING = "nothing"
    BROKEN_OFF = "broken off"
    # Of a stream:
    DONE = "[DONE]"
    ERROR = "error, [DONE]"
    # Of a whole answer:
    ANSWER = "answer"
    REFUSAL = "error"


class Answer(msgspec.Struct, frozen=True):
    """What is worth keeping of an answer. Each word that the simulator says is one token."""

    status: int = 0
    request_id: str = ""
    words: int = 0
    tail: Tail = Tail.NOTHING
    code: str = ""
    # A stream that began with a comment: whatever happens later is told inside it.
    kept_alive: bool = False
    says_not_to_retry: bool = False


class Words(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    delta: Words | None = None
    message: Words | None = None


class Error(msgspec.Struct):
    code: str | None = None


class Said(msgspec.Struct):
    """One event of a stream, or the body of a whole answer."""

    choices: list[Choice] = []
    error: Error | None = None

    @property
    def words(self) -> int:
        told = (choice.delta or choice.message or Words() for choice in self.choices)
        return sum(len((words.content or "").split()) for words in told)


decode = msgspec.json.Decoder(Said).decode


def read_answer(received: bytes) -> Answer:
    head, blank_line, rest = received.partition(b"\r\n\r\n")
    if not blank_line:
        return Answer(tail=Tail.BROKEN_OFF if received else Tail.NOTHING)
    status_line, *lines = head.decode("latin-1").lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    if "transfer-encoding" in headers:
        body, complete = unchunked(rest)
    else:
        body, complete = rest, len(rest) == int(headers.get("content-length", -1))
    read = _read_events if "event-stream" in headers.get("content-type", "") else _read_whole
    words, tail, code = read(body) if complete or read is _read_events else (0, Tail.BROKEN_OFF, "")
    return Answer(
        status=int(status_line.split()[1]),
        request_id=headers.get("x-request-id", ""),
        words=words,
        tail=tail if complete else Tail.BROKEN_OFF,
        code=code,
        kept_alive=body.startswith(KEEP_ALIVE),
        says_not_to_retry=headers.get("x-should-retry") == "false",
    )


def unchunked(rest: bytes) -> tuple[bytes, bool]:
    """As much of a chunked body as has come, and whether that is all of it."""
    pieces: list[bytes] = []
    at = 0
    while (end := rest.find(b"\r\n", at)) >= 0:
        size = int(rest[at:end], 16)
        if size == 0:
            return b"".join(pieces), rest[end:] == b"\r\n\r\n"
        pieces.append(rest[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(pieces), False


def _read_events(body: bytes) -> tuple[int, Tail, str]:
    """Words, how it ends, and the error's code, of those events that came whole."""
    whole = body.replace(b"\r\n", b"\n").rpartition(b"\n\n")[0]
    told = [event.removeprefix(b"data: ") for event in whole.split(b"\n\n") if event.startswith(b"data: ")]
    is_done = bool(told) and told[-1] == b"[DONE]"
    said = [decode(data) for data in told if data != b"[DONE]"]
    words = sum(event.words for event in said)
    if not is_done or told.count(b"[DONE]") > 1:
        return words, Tail.BROKEN_OFF, ""
    errors = [event.error for event in said if event.error is not None]
    if not errors:
        return words, Tail.DONE, ""
    is_last = len(errors) == 1 and said[-1].error is not None
    return words, Tail.ERROR if is_last else Tail.BROKEN_OFF, errors[0].code or ""


def _read_whole(body: bytes) -> tuple[int, Tail, str]:
    try:
        said = decode(body)
    except msgspec.DecodeError:
        # Not an answer of ours; the status beside it says what it was.
        return 0, Tail.BROKEN_OFF, "not_json"
    if said.error is not None:
        return 0, Tail.REFUSAL, said.error.code or ""
    return said.words, Tail.ANSWER, ""
