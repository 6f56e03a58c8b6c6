"""What is asked: the bodies of the calls, with the simulator's directions in them."""

import msgspec

MODEL = "gpt-4o"
SYSTEM = "You are a careful assistant. Answer in plain words, and say so where you do not know."
QUESTION = "Compare the two reports below and tell me where their figures disagree, and by how much. "
# Stands for a number that no other call has: what was asked before is asked for less.
NUMBER = "#" * 16
# The answer's opening, its finish and [DONE] are events as well.
EVENTS_BESIDE_CONTENT = 3


class Order(msgspec.Struct, frozen=True):
    """A request body, and how many events its answer has; 0 where that comes whole."""

    body: str
    events: int


def whole(*, delay_ms: int = 0, prompt_bytes: int = 800) -> Order:
    return Order(_body(f"{NUMBER} [[tokens=16 delay_ms={delay_ms}]]", prompt_bytes=prompt_bytes, stream=False), 0)


def further(*, history_bytes: int) -> Order:
    """The next word of a long conversation, of which everything else was sent before."""
    history = {"role": "user", "content": (QUESTION * (history_bytes // len(QUESTION) + 1))[:history_bytes]}
    word = {"role": "user", "content": f"{NUMBER} [[tokens=16]]"}
    return Order(msgspec.json.encode({"model": MODEL, "messages": [history, word], "stream": False}).decode(), 0)


def streamed(chunks: int, *, chunk_ms: int = 0, prompt_bytes: int = 800) -> Order:
    """Of a slow stream each chunk carries the time at which it was sent."""
    directions = f"{NUMBER} [[tokens={chunks} chunk_ms={chunk_ms} stamped={int(chunk_ms > 0)}]]"
    return Order(_body(directions, prompt_bytes=prompt_bytes, stream=True), chunks + EVENTS_BESIDE_CONTENT)


def _body(directions: str, *, prompt_bytes: int, stream: bool) -> str:
    question = (QUESTION * (prompt_bytes // len(QUESTION) + 1))[:prompt_bytes]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{question} {directions}"}]
    return msgspec.json.encode({"model": MODEL, "messages": messages, "stream": stream}).decode()
