"""What a provider says when it rejects a request, cleaned of everything that is between it and us."""

import ipaddress
import re

import msgspec

MESSAGE_CHARACTERS_MOST = 1_000
# Cleaned before it is shortened, so that nothing is cut in two and not recognised; and not without end.
CLEANED_CHARACTERS_MOST = 4 * MESSAGE_CHARACTERS_MOST
LEFT_OUT = "…"

_KEYS = r"\b\w{0,4}(?:sk|pk|rk)[-_][\w*.…-]{4,}"
# An id has a digit or a capital in it somewhere: `user_location` is a parameter, `key-value` a word.
_IDS = r"\b(?:key|org|proj|user|asst|acct|req)[-_](?=[\w-]{0,64}(?:\d|(?-i:[A-Z])))[\w*.…-]{4,}"
_PLACES = r"https?://\S+|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"
_HOSTS = r"\b[\w-]{1,64}(?:\.[\w-]{1,64}){0,8}\.(?:com|net|org|io|ai|dev|cloud|internal|local)\b"
_IP_V4 = r"\b(?:\d{1,3}\.){3}\d{1,3}\b"
_PROJECTS = r"\bAIza[\w-]{8,}|\bwrkspc_\w+|\bprojects?[ /]\d{6,}|\bprojects/[\w-]+"
_UUIDS = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_OURS = re.compile(f"{_KEYS}|{_IDS}|{_PROJECTS}|{_UUIDS}|{_PLACES}|{_HOSTS}|{_IP_V4}", re.IGNORECASE)
_PERHAPS_IP_V6 = re.compile(r"[0-9a-fA-F:.]{3,64}")
_CODE = re.compile(r"[a-z][a-z0-9_]{1,63}")
_PARAM = re.compile(r"[\w.\[\]-]{1,64}")


class _ErrorFields(msgspec.Struct):
    message: str = ""
    param: str | None = None
    code: str | int | None = None


class _ErrorBody(msgspec.Struct):
    error: _ErrorFields


class Rejection(msgspec.Struct, frozen=True):
    message: str | None = None
    param: str | None = None
    code: str | None = None


class ModelNames(msgspec.Struct, frozen=True):
    """What the provider calls a model, and what its callers do."""

    theirs: str | None
    ours: str

    def in_ours(self, text: str) -> str:
        if not self.theirs or self.theirs == self.ours:
            return text
        # Not as a part of another model's name; a full stop ends a sentence.
        found = rf"(?<![\w.-]){re.escape(self.theirs)}(?![\w-]|\.\w)"
        return re.sub(found, lambda _: self.ours, text, flags=re.IGNORECASE)


def read_rejection(body: bytes, secret: str, names: ModelNames | None = None) -> Rejection:
    """The provider's own words, code and parameter, as far as they may be passed on."""
    try:
        told = msgspec.json.decode(body, type=_ErrorBody).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Rejection()
    code = told.code if isinstance(told.code, str) else None
    message = told.message if names is None else names.in_ours(told.message)
    return Rejection(
        _cleaned(message, secret)[:MESSAGE_CHARACTERS_MOST].strip() or None,
        told.param if _is_plain(told.param, _PARAM, secret, names) else None,
        code if _is_plain(code, _CODE, secret, names) else None,
    )


def _cleaned(text: str, secret: str) -> str:
    text = text.replace(secret, LEFT_OUT) if secret else text
    return _OURS.sub(LEFT_OUT, _PERHAPS_IP_V6.sub(_without_address, text[:CLEANED_CHARACTERS_MOST]))


def _without_address(found: re.Match[str]) -> str:
    """What was found, unless it is an IPv6 address, perhaps with punctuation at its ends."""
    text = found[0]
    if text.count(":") < 2:
        return text
    for candidate in (text, text.strip("."), text.rstrip(".:"), text.lstrip(":"), text.strip(":.")):
        try:
            ipaddress.IPv6Address(candidate)
        except ValueError:
            continue
        return text.replace(candidate, LEFT_OUT)
    return text


def _is_plain(word: str | None, form: re.Pattern[str], secret: str, names: ModelNames | None) -> bool:
    """A name of something, and of nothing of ours."""
    if word is None or form.fullmatch(word) is None or _cleaned(word, secret) != word:
        return False
    return names is None or names.in_ours(word) == word
