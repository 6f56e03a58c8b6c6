"""Which of the secrets that are listed by version new things are made under."""

from typing import Annotated

import msgspec
from msgspec import Meta


class VersionsInUse(msgspec.Struct, frozen=True, kw_only=True):
    pepper_in_use: Annotated[
        int,
        Meta(
            ge=0,
            le=32_767,
            description="The version under which new keys are digested, and others anew when they are used. Name a new "
            "one when every node knows it. 0: the oldest that is listed.",
        ),
    ] = 0
    envelope_key_in_use: Annotated[
        int,
        Meta(
            ge=0,
            le=32_767,
            description="The version under which secrets are sealed. Name a new one when every node knows it, then run "
            "`tollkeeper envelope reseal`. 0: the oldest that is listed.",
        ),
    ] = 0
