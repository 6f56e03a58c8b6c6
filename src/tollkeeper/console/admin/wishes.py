"""What a request asks for, read into the wish of its act."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request

from tollkeeper.console.admin.refusals import BadWish, IdempotencyKeyMissing, TooLarge
from tollkeeper.core.calls.json_numbers import read_float
from tollkeeper.office.act import Act
from tollkeeper.office.wire import ONCE, names_once, wish_read

BODY_BYTES_MOST = 256 * 1024

_decoder = msgspec.json.Decoder(float_hook=read_float)


def idempotency_key(request: Request) -> str:
    """Raise IdempotencyKeyMissing."""
    given = request.headers.get(ONCE, "")
    if not names_once(given):
        raise IdempotencyKeyMissing
    return given


async def read_wish(act: Act[Any, Any], request: Request, *, once: str) -> Any:
    """Raise BadWish, or TooLarge. `once`: the name of the request, for an act that moves money."""
    asked = await _body(request) if act.has_body else _query(request)
    unknown = sorted(set(asked) - set(act.asked))
    if unknown:
        raise BadWish(f"There is no field '{unknown[0][:100]}' here. Nothing was done.")
    try:
        _require_storable([asked, request.path_params])
        return wish_read(act, request.path_params, asked, once=once)
    except msgspec.ValidationError as problem:
        raise BadWish(f"{problem}. Nothing was done.") from None
    except RecursionError:
        raise BadWish("The body is nested too deeply. Nothing was done.") from None


def _query(request: Request) -> Mapping[str, Any]:
    given: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        if name in given:
            raise BadWish(f"'{name[:100]}' is there twice. Nothing was done.")
        given[name] = text
    return given


async def _body(request: Request) -> Mapping[str, Any]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES_MOST:
            raise TooLarge
    try:
        found = _decoder.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        raise BadWish("The body is no JSON. Nothing was done.") from None
    if not isinstance(found, dict):
        raise BadWish("The body is no JSON object. Nothing was done.")
    return found


def _require_storable(found: Any) -> None:
    """PostgreSQL keeps no text with a NUL in it, nor halves of characters."""
    if isinstance(found, str):
        if "\0" in found or not _is_whole(found):
            raise BadWish("A text has a character that cannot be kept. Nothing was done.")
    elif isinstance(found, Mapping):
        for name, value in found.items():
            _require_storable(name)
            _require_storable(value)
    elif isinstance(found, list):
        for value in found:
            _require_storable(value)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
