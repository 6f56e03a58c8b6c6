"""Keys: listed, made, changed, paused, rotated and revoked by whoever has the account."""

from tollkeeper.console.keys import rows

KEYS = rows.PAGES
