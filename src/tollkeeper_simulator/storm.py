"""Storms: a share of all calls that fails, whatever they ask for."""

import msgspec


class Storm(msgspec.Struct, frozen=True):
    share: float
    status: int


CALM = Storm(0.0, 503)


def read_storm(text: str) -> Storm:
    """`0.5:503` is every second call, at random; an empty text is calm weather. Raise ValueError."""
    if not text:
        return CALM
    share_text, _, status_text = text.partition(":")
    try:
        storm = Storm(float(share_text), int(status_text or CALM.status))
    except ValueError:
        raise ValueError(f"'{text}' is not a storm: write SHARE:STATUS, as in 0.5:503") from None
    if not (0 <= storm.share <= 1 and 400 <= storm.status <= 599):
        raise ValueError(f"'{text}' is not a storm: a share from 0 to 1 and a status from 400 to 599")
    return storm
