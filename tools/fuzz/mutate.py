"""Small changes to an input: of its bytes, and of the JSON in it, which bytes alone would seldom leave valid."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

# What stands for something that Python's own writer would not write, and what is put in its place afterwards.
STRANGE = {
    "@huge@": b"1e999",
    "@long@": b"123456789012345678901234567890",
    "@float@": b"1.0",
    "@minus@": b"-0",
    "@half@": rb'"\ud800"',
    "@pair@": rb'"\ud83d\ude00"',
    "@zero@": rb'"\u0000"',
    "@raw@": b'"\xff"',
}
ODD: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    2**31,
    2**63,
    2**64,
    -(2**63),
    "",
    "a",
    " ",
    "\n",
    [],
    {},
    [[]],
    {"": None},
)
INTERESTING = (
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\xff",
    b"\xc2\x85",
)


def mutated(data: bytes, chance: Random, words: Sequence[bytes], size_most: int) -> bytes:
    """`data` with one to three changes."""
    for _ in range(chance.randint(1, 3)):
        changed = _json_changed(data, chance) if chance.random() < 0.5 else None
        data = _bytes_changed(data, chance, words) if changed is None else changed
    return data[:size_most]


def _bytes_changed(data: bytes, chance: Random, words: Sequence[bytes]) -> bytes:
    begin = chance.randint(0, len(data))
    end = min(len(data), begin + chance.choice((0, 1, 1, 2, 8, 64)))
    act = chance.randrange(5)
    if act == 0:
        return data[:begin] + data[end:]
    if act == 1:
        return data[:end] + data[begin:end] * chance.choice((1, 1, 2, 16)) + data[end:]
    if act == 2:
        return data[:begin] + bytes(chance.randrange(256) for _ in range(end - begin)) + data[end:]
    if act == 3:
        other = chance.randint(0, len(data))
        return data[:begin] + data[other : other + chance.choice((1, 8, 64))] + data[end:]
    return data[:begin] + chance.choice((*INTERESTING, *words)) + data[end:]


def _json_changed(data: bytes, chance: Random) -> bytes | None:
    """With one value changed in a JSON object that begins somewhere; None where there is none."""
    text = data.decode("utf-8", "surrogateescape")
    begins = [at for at, mark in enumerate(text) if mark == "{"]
    if not begins:
        return None
    # Most often the outermost of the first, sometimes another.
    begin = begins[0] if chance.random() < 0.5 else chance.choice(begins)
    try:
        value, end = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    root = [value]
    holder, key = chance.choice(list(_places(root)))
    _change(holder, key, chance, root)
    try:
        written = json.dumps(root[0], ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None
    for stands_for, meant in STRANGE.items():
        written = written.replace(f'"{stands_for}"'.encode(), meant)
    before, behind = text[:begin], text[end:]
    return before.encode("utf-8", "surrogateescape") + written + behind.encode("utf-8", "surrogateescape")


def _change(holder: Any, key: Any, chance: Random, root: list[Any]) -> None:
    act = chance.randrange(6)
    if act == 0 and isinstance(holder, dict):
        del holder[key]
    elif act == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif act == 2:
        other, name = chance.choice(list(_places(root)))
        # As text, so that nothing comes to stand in itself.
        holder[key] = json.loads(json.dumps(other[name]))
    elif act == 3:
        for _ in range(chance.choice((1, 2, 64, 900))):
            holder[key] = [holder[key]] if chance.random() < 0.5 else {"a": holder[key]}
    elif act == 4:
        holder[key] = chance.choice(tuple(STRANGE))
    else:
        holder[key] = chance.choice(ODD)


def _places(root: Any) -> Iterator[tuple[Any, Any]]:
    """Everywhere that something stands: what holds it, and under which name or number."""
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
