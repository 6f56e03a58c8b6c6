"""Which conversation a call belongs to, so that its calls can go to one provider account (`core/pool/affinity`).

Rules of this file
1. An id of the conversation says it, where the caller sends one: `prompt_cache_key`, or a session.
2. Otherwise its beginning does: what stands before the first user message, and that message. Every later call of the
   conversation begins so, too. Of a long text only the start is looked at.
3. A user is not a conversation: many services send one name for all they do. It only tells beginnings apart that are
   the same.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice

import msgspec
from msgspec import Raw

ID_CHARACTERS_MOST = 512
# Of each text before the first user message, and of that message.
TEXT_CHARACTERS_MOST = 1_024
TEXTS_MOST = 8


class _Metadata(msgspec.Struct):
    session_id: str | None = None


_decode_text = msgspec.json.Decoder(str).decode
_decode_metadata = msgspec.json.Decoder(_Metadata).decode


def no_conversation() -> bytes:
    """The name of the conversation of a call that belongs to none."""
    return b""


def conversation_by_id(session: str) -> bytes:
    return b"id\0" + _start(session, ID_CHARACTERS_MOST)


def named_by_id(session: str) -> Callable[[], bytes]:
    """Names the conversation when it is asked to, and keeps no more of a long id than its name has."""
    return partial(conversation_by_id, session[:ID_CHARACTERS_MOST])


def conversation_by_beginning(texts: Iterable[str], user: str = "") -> bytes:
    """`texts`: those of the conversation up to its first user message."""
    parts = [_start(text, TEXT_CHARACTERS_MOST) for text in islice(texts, TEXTS_MOST)]
    return b"\0".join((b"beginning", _start(user, ID_CHARACTERS_MOST), *parts))


def session_in(fields: Mapping[str, Raw]) -> str | None:
    """The id of the conversation in a chat body. What is no id is none: whether it is allowed is judged elsewhere."""
    try:
        if (cache_key := fields.get("prompt_cache_key")) is not None:
            return _decode_text(cache_key) or None
        if (metadata := fields.get("metadata")) is not None:
            return _decode_metadata(metadata).session_id or None
    except msgspec.MsgspecError:
        return None
    return None


def user_in(fields: Mapping[str, Raw]) -> str:
    user = fields.get("user")
    try:
        return "" if user is None else _decode_text(user)
    except msgspec.MsgspecError:
        return ""


def _start(text: str, characters_most: int) -> bytes:
    return text[:characters_most].encode(errors="surrogatepass")
