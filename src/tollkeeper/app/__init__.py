"""The composition root: the only room of the service that names concrete adapters.

`demo` names some beside it, to write the past of a customer down; and `cli/command` tells what is wrong with a database
in the words of `storage/postgres/trouble`.
"""

from tollkeeper.app.books import book_reviewer_of, books_desk
from tollkeeper.app.console import console
from tollkeeper.app.first_look import first_look
from tollkeeper.app.front import front
from tollkeeper.app.gateway import gateway
from tollkeeper.app.office import office, settings_in_force
from tollkeeper.app.parts import VENDORS, check_journal, opened
from tollkeeper.app.rotation import pepper_trouble
from tollkeeper.app.telemetry import missing_extra
from tollkeeper.app.work import work
from tollkeeper.office.desks import Office
from tollkeeper.storage.postgres.database import DatabaseRole

__all__ = [
    "VENDORS",
    "DatabaseRole",
    "Office",
    "book_reviewer_of",
    "books_desk",
    "check_journal",
    "console",
    "first_look",
    "front",
    "gateway",
    "missing_extra",
    "office",
    "opened",
    "pepper_trouble",
    "settings_in_force",
    "work",
]
