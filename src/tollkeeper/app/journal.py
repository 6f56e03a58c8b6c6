"""The journal, looked at before a process begins."""

from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.journal_folder import JournalFolder


def check_journal(settings: Settings) -> None:
    """Raise UnsafeFolder where the journal cannot be kept; make its folder where there is none."""
    JournalFolder(settings.journal).close()
