"""Usage: every call, what it cost and why."""

from tollkeeper.console.usage import calls, receipt

PAGES = (*calls.PAGES, *receipt.PAGES)
