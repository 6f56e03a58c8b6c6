"""What an operator may let pass to a provider account beside the parameters that are listed."""

import re

from tollkeeper.providers.vendors.fields import FIELDS
from tollkeeper.providers.vendors.media_fields import MEDIA_FIELDS

# Small letters only: no reader takes such a name for one that is listed.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
LISTED = FIELDS.keys() | frozenset().union(*MEDIA_FIELDS.values())
# What is priced or says where an order goes, in whatever kind of call.
NEVER = LISTED | {
    "file",
    "url",
    "file_url",
    "image_url",
    "image",
    "images",
    "mask",
    "host",
    "proxy",
    "webhook",
    "webhook_url",
}
# Vendors that are sent orders in the protocol itself; for the others there is no translation of such a parameter.
COMPATIBLE = frozenset({"openai", "azure"})


def can_be_passed(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in NEVER
