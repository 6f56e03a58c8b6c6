"""Settings: frozen values, read once and passed on; never imported as a global."""

from tollkeeper.settings.operator import OperatorAccess, operator_access
from tollkeeper.settings.reading import (
    FILE_VARIABLE,
    PREFIX,
    BadSettings,
    description,
    headers_in,
    keys_by_version,
    load,
    peppers_in,
    sources,
)
from tollkeeper.settings.secret import Secret
from tollkeeper.settings.values import Settings

__all__ = [
    "FILE_VARIABLE",
    "PREFIX",
    "BadSettings",
    "OperatorAccess",
    "Secret",
    "Settings",
    "description",
    "headers_in",
    "keys_by_version",
    "load",
    "operator_access",
    "peppers_in",
    "sources",
]
