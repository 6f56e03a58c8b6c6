"""Numbers of JSON that strangers sent.

msgspec's own reader takes 17 µs for `1e300`, which are five bytes: a body of some hundred kilobytes of them would keep
a worker busy for a second. Whoever reads values of any type reads its numbers with this instead.
"""

import math


def read_float(text: str) -> float:
    """Raise ValueError where no float is as large."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value
