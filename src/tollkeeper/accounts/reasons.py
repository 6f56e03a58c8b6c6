"""Reasons: a decision about a customer's money needs one, and the audit log keeps it."""

from tollkeeper.core.one_line import one_line

REASON_CHARACTERS_MOST = 500


def checked_reason(text: str) -> str:
    reason = text.strip()
    if not 1 <= len(reason) <= REASON_CHARACTERS_MOST:
        raise ValueError(f"Say why in 1 to {REASON_CHARACTERS_MOST} characters. Nothing was done.")
    return one_line(reason, "A reason")
