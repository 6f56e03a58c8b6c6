"""Chat in the console: a playground over the customer's own account."""

from tollkeeper.console.chat import rows

CHAT = rows.PAGES
