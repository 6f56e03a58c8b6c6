"""Acts over HTTP: a wish written as a request, and read back at the other end.

    wish ─► written ─► method, path, query, body ─► HTTP ─► wish_read ─► the same wish
    result ◄─ result_read ◄──────────── JSON ◄───────────────────────────── result

Rules of this file
1. Fields in braces stand in the path, percent-encoded as a whole: a slash within a name is %2F. The others are the
   query of a request without a body, and the JSON body of any other one.
2. What stands in path and query is text, and the field's type says of what. Nothing (None) is left out there.
3. The name of a request that moves money is a header (`ONCE`), never a field.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tollkeeper.office.act import IN_PATH, Act, OnceWish, Result, Wish

PREFIX = "/admin/v1"
ONCE = "idempotency-key"
# Of an answer that an earlier request of the same name got.
REPLAYED = "idempotency-replayed"

_ONCE_FORM = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?")


class WishOnWire(msgspec.Struct, frozen=True, kw_only=True):
    """A wish as a request. The path stands below `PREFIX`."""

    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    once: str = ""


class AdminError(msgspec.Struct, frozen=True):
    code: str
    message: str
    request_id: str


class ErrorAnswer(msgspec.Struct, frozen=True):
    """What every refusal looks like."""

    error: AdminError


def names_once(text: str) -> bool:
    """Whether it can name a request that moves money."""
    return _ONCE_FORM.fullmatch(text) is not None


def written(act: Act[Wish, Result], wish: Wish) -> WishOnWire:
    fields: dict[str, Any] = msgspec.to_builtins(wish)
    asked = {name: fields[name] for name in act.asked}
    query = {name: _text(value) for name, value in asked.items() if value is not None}
    return WishOnWire(
        method=act.method,
        path=IN_PATH.sub(lambda found: quote(_text(fields[found[1]]), safe=""), act.path),
        query="" if act.has_body else urlencode(query),
        body=msgspec.json.encode(asked) if act.has_body else None,
        once=wish.once if isinstance(wish, OnceWish) else "",
    )


def wish_read(act: Act[Wish, Result], in_path: Mapping[str, str], asked: Mapping[str, Any], *, once: str) -> Wish:
    """`asked`: the query, or what the body has. Raise msgspec.ValidationError."""
    fields = {field.name: field.type for field in msgspec.structs.fields(act.wish)}
    texts = {name: in_path[name] for name in act.in_path}
    values: dict[str, Any] = {}
    if act.has_body:
        values |= asked
    else:
        texts |= asked
    values |= {name: msgspec.convert(text, fields[name], strict=False) for name, text in texts.items()}
    if act.moves_money:
        values["once"] = once
    return msgspec.convert(values, act.wish)


def result_read(act: Act[Wish, Result], body: bytes, *, replayed: bool) -> Result:
    """`replayed`: it was done before under the same name, and a result that can say so does. Raise MsgspecError."""
    result = msgspec.json.decode(body, type=act.result)
    if replayed and "was_before" in result.__struct_fields__:
        return msgspec.structs.replace(result, was_before=True)
    return result


def _text(value: Any) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)
