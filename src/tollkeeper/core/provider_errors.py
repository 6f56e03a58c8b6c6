"""What a provider says when it rejects a request, cleaned of everything that is between it and us."""

import re

import msgspec

MESSAGE_CHARACTERS_MOST = 1_000
LEFT_OUT = "…"

# Keys, ids of organisations and projects, addresses of hosts and of people.
_OURS = re.compile(
    r"\b(?:sk|pk|rk|key|org|proj|user|asst|acct|req)[-_][\w*.…-]{4,}|https?://\S+|\S+@\S+\.\S+|\b(?:\d{1,3}\.){3}\d{1,3}\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[a-z][a-z0-9_]{1,63}")
_PARAM = re.compile(r"[\w.\[\]-]{1,64}")


class _Told(msgspec.Struct):
    message: str = ""
    param: str | None = None
    code: str | int | None = None


class _Body(msgspec.Struct):
    error: _Told


class Rejection(msgspec.Struct, frozen=True):
    message: str | None = None
    param: str | None = None
    code: str | None = None


def read_rejection(body: bytes, secret: str) -> Rejection:
    """The provider's own words, code and parameter, as far as they may be passed on."""
    try:
        told = msgspec.json.decode(body, type=_Body).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Rejection()
    message = _OURS.sub(LEFT_OUT, told.message.replace(secret, LEFT_OUT) if secret else told.message)
    code = told.code if isinstance(told.code, str) and _CODE.fullmatch(told.code) else None
    param = told.param if told.param is not None and _PARAM.fullmatch(told.param) else None
    return Rejection(message[:MESSAGE_CHARACTERS_MOST].strip() or None, param, code)
