"""The composition root: the only room that names concrete adapters."""

from tollkeeper.app.front import front
from tollkeeper.app.gateway import gateway
from tollkeeper.app.office import Office, office
from tollkeeper.app.parts import VENDORS, check_journal, opened
from tollkeeper.app.work import work

__all__ = ["VENDORS", "Office", "check_journal", "front", "gateway", "office", "opened", "work"]
