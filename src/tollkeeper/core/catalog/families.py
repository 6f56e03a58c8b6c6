"""Families of models: whose a model is by its id, and what a vendor's own address serves.

Rules of this file
1. A family is known only where an address is the vendor's own. Behind any other one, compatible servers and Azure's
   deployments, there may be any model.
2. An id that is not known belongs to no family: whoever serves it is named by the operator.
"""

import re
from collections.abc import Mapping
from typing import Final

# By vendor: the host that is its own.
OWN_HOSTS: Final[Mapping[str, str]] = {
    "openai": "api.openai.com",
    "anthropic": "api.anthropic.com",
    "gemini": "generativelanguage.googleapis.com",
}
# By vendor: how the ids of its models begin. (gpt-oss are weights that others serve.)
BEGINNINGS: Final[Mapping[str, re.Pattern[str]]] = {
    "openai": re.compile(
        r"gpt-(?!oss)|chatgpt-|codex-|o[0-9]+(?:-|$)|dall-e-|whisper-|tts-|text-embedding-(?:3|ada)-|computer-use-"
    ),
    "anthropic": re.compile(r"claude-"),
    "gemini": re.compile(r"gemini-|imagen-|text-embedding-0|embedding-0"),
}


def family_at(vendor: str, host: str) -> str | None:
    """The family of models that is served at a vendor's own address; None where any may be."""
    return vendor if OWN_HOSTS.get(vendor) == host.lower().rstrip(".") else None


def is_of_family(model_id: str, family: str) -> bool:
    beginning = BEGINNINGS.get(family)
    return beginning is not None and beginning.match(model_id) is not None
