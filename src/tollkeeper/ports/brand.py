"""The operator's brand, as it is kept."""

from collections.abc import Mapping
from typing import Protocol

from tollkeeper.core.brand import Brand


class BrandDesk(Protocol):
    async def current(self) -> Brand: ...
    async def change(self, changed: Mapping[str, str | bytes], *, actor: str) -> Brand:
        """Change these fields, on the record; what the brand is then. Raise BadBrand."""
        ...


class BrandBook(Protocol):
    """What pages know of it: from memory, and read anew after a change."""

    @property
    def known(self) -> Brand:
        """As it was when it was looked at last."""
        ...

    async def look(self) -> Brand: ...
