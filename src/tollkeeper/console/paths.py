"""Paths: where a form may send people next, and the numbers of rows in them."""

import re

from starlette.convertors import IntegerConvertor

# No scheme, no host, no second slash at the beginning, and nothing that a browser would read as one.
_OWN = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9/_.-]*)?(?:\?[A-Za-z0-9=&%_.+:~-]*)?")
_LENGTH_MOST = 500


def own_path(text: str) -> str:
    """The path if it is one of ours; home otherwise."""
    return text if len(text) <= _LENGTH_MOST and _OWN.fullmatch(text) else "/"


class RowNumber(IntegerConvertor):
    """`{key_id:int}`: as many digits as a number of the database can have. With more, there is no such page."""

    regex = "[0-9]{1,18}"
