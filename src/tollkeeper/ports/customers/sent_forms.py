"""Forms that are taken once."""

from typing import Protocol


class SentForms(Protocol):
    async def is_first(self, form_id: str) -> bool:
        """Whether this form was never sent before; from now on it was."""
        ...
