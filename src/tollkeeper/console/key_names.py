"""Names of keys that we have made for people: those are told in their language, and all others as they were given."""

from collections.abc import Mapping

from tollkeeper.accounts import chat
from tollkeeper.accounts.money import faucet
from tollkeeper.console.words import marked, translations

OURS: Mapping[str, str] = {chat.KEY_NAME: marked("Chat in the console"), faucet.KEY_NAME: marked("Faucet")}


def key_name(name: str, language: str) -> str:
    return translations(language).gettext(OURS[name]) if name in OURS else name
