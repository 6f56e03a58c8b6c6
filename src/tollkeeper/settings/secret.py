"""Text that is used and never shown."""


class Secret(str):
    """Text that must not be shown: prints, formats and logs as dots."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "•••"

    __str__ = __repr__

    def __format__(self, _: str) -> str:
        return repr(self)

    def reveal(self) -> str:
        return self[:]
