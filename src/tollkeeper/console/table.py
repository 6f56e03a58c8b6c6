"""Every page of the console. A part of the console has a room of its own, with its rows."""

from tollkeeper.console import home, legal, logs, notices, partner, preferences, statements, usage
from tollkeeper.console.chat import CHAT
from tollkeeper.console.keys import KEYS
from tollkeeper.console.money import MONEY
from tollkeeper.console.pages import Page
from tollkeeper.console.way_in import WAY_IN

PAGES: tuple[Page, ...] = (
    *home.PAGES,
    *CHAT,
    *KEYS,
    *MONEY,
    *partner.PAGES,
    *notices.PAGES,
    *preferences.PAGES,
    *WAY_IN,
    *usage.PAGES,
    *statements.PAGES,
    *logs.PAGES,
    *legal.PAGES,
)
