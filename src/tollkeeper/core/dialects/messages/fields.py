"""The parameters and betas of a Messages order: what passes to a provider that speaks the dialect.

Rules of this file
1. As for chat (`vendors/fields`): what is not listed is refused by name, for nobody could say what a provider would
   make of it, fetch for it or charge.
2. A beta that is not listed is left out and refuses nothing: agents send new ones with every version, and without its
   beta a provider answers as it always did.
"""

import re
from collections.abc import Mapping

from msgspec import Raw

from tollkeeper.core.calls.json_fields import NOT_KNOWN
from tollkeeper.core.dialects.messages.form import MessagesFields
from tollkeeper.core.errors import UnsupportedParameter

NULL = b"null"
PASSING = frozenset(MessagesFields.__struct_fields__)
# What a provider takes that is asked to count an order; the others do not change the count.
COUNTED = frozenset(
    {
        *("model", "messages", "system", "tools", "tool_choice", "thinking"),
        *("output_config", "output_format", "context_management", "cache_control"),
    }
)
REFUSED = {
    "mcp_servers": "it has the provider ask other servers, with keys that would pass through this service",
    "container": "what is kept at the provider is this service's own, and charged beside tokens",
    "speed": "it changes what the provider charges, and the price does not have it; leave it out",
    "inference_geo": "it changes what the provider charges, and the price does not have it; leave it out",
    "betas": "betas are named in the header anthropic-beta",
    "fallbacks": "a call is priced as one of one model; name it in model",
}
# Betas that change no price beyond what a price's parts and tiers say, and reach nothing that is kept at the provider.
BETAS = frozenset(
    {
        "claude-code-20250219",
        "interleaved-thinking-2025-05-14",
        "adaptive-thinking-2026-01-28",
        "thinking-token-count-2026-05-13",
        "dev-full-thinking-2025-05-14",
        "context-management-2025-06-27",
        "context-1m-2025-08-07",
        "prompt-caching-2024-07-31",
        "prompt-caching-scope-2026-01-05",
        "extended-cache-ttl-2025-04-11",
        "token-counting-2024-11-01",
        "token-efficient-tools-2025-02-19",
        "fine-grained-tool-streaming-2025-05-14",
        "advanced-tool-use-2025-11-20",
        "structured-outputs-2025-11-13",
        "effort-2025-11-24",
        "output-128k-2025-02-19",
        "max-tokens-3-5-sonnet-2024-07-15",
        "pdfs-2024-09-25",
        "search-results-2025-06-09",
        "computer-use-2024-10-22",
        "computer-use-2025-01-24",
        "computer-use-2025-11-24",
        "web-search-2025-03-05",
        "web-fetch-2025-09-10",
    }
)
# Tools that the vendor defines and the caller runs: they cost no more than their tokens.
RUN_BY_CALLERS = frozenset({"bash", "text_editor", "computer", "memory"})
_VERSIONED = re.compile(r"(?P<name>[a-z][a-z_]{0,63})_\d{8}")


def passing(fields: Mapping[str, Raw]) -> dict[str, Raw]:
    """The parameters that pass. Raise UnsupportedParameter. Null is as good as nothing, under whatever name."""
    given = {name: value for name, value in fields.items() if bytes(memoryview(value)[: len(NULL) + 1]) != NULL}
    for name in given:
        if name not in PASSING:
            raise UnsupportedParameter(name, REFUSED.get(name, NOT_KNOWN))
    return given


def betas_in(header: str) -> str:
    """The betas of a header that pass, each once, as they stood."""
    named = (value.strip() for value in header.split(","))
    return ",".join(dict.fromkeys(value for value in named if value in BETAS))


def tool_name(versioned: str) -> str:
    """The name under which a tool that the vendor defines is priced; empty where no tool is of that form."""
    found = _VERSIONED.fullmatch(versioned)
    return found["name"] if found else ""
