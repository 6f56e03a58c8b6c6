"""Settings: frozen values, read once and passed on; never imported as a global."""

from tollkeeper.settings.reading import (
    FILE_VARIABLE,
    PREFIX,
    BadSettings,
    description,
    keys_by_version,
    load,
    sources,
)
from tollkeeper.settings.secret import Secret
from tollkeeper.settings.values import Settings

__all__ = [
    "FILE_VARIABLE",
    "PREFIX",
    "BadSettings",
    "Secret",
    "Settings",
    "description",
    "keys_by_version",
    "load",
    "sources",
]
