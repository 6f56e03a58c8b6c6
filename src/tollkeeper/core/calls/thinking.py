"""Whether an order may make a model think before it speaks: thoughts are charged, and known from the report alone.

Rules of this file
1. Values are decoded and compared whole. A word that is found somewhere in them says nothing.
2. A model that was not plainly told not to think may think; so may one that was told what nobody here knows.
3. Null tells it nothing, under whatever name.
4. Thoughts count as output. A budget for them that leaves no room for an answer under its cap would be refused by the
   provider, so it is halved with the cap; where that is less than a provider takes, nothing is said of thinking.
"""

from collections.abc import Mapping

from msgspec import Raw

from tollkeeper.core.calls.json_fields import decode, encode

# Parameters by which a model is told to think, and the values that plainly tell it not to.
NO_THOUGHTS: Mapping[str, tuple[object, ...]] = {
    "reasoning_effort": ("none",),
    "thinking": ({"type": "disabled"},),
    "reasoning": ({"effort": "none"}, {"enabled": False}),
    "enable_thinking": (False,),
    "thinking_budget": (0,),
    "chat_template_kwargs": ({}, {"enable_thinking": False}, {"thinking": False}),
}
NOTHING = b"null"
# What Anthropic takes as a budget.
BUDGET_TOKENS_LEAST = 1_024
# Parameters that have nothing to do with thinking.
QUIET = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "stop"),
        *("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs"),
        *("top_logprobs", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "user"),
        *("response_format", "verbosity", "prediction", "cache_control", "safety_identifier", "store", "metadata"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "data_sources"),
        *("web_search_options", "audio", "modalities", "moderation", "usage", "min_p", "top_a", "typical_p"),
        *("repetition_penalty", "min_tokens", "stop_token_ids"),
    }
)


def may_think(fields: Mapping[str, Raw]) -> bool:
    """Whether the model may think, as far as these parameters have a say in it."""
    if fields.keys() <= QUIET:
        return False
    return any(_may_make_think(name, value) for name, value in fields.items() if name not in QUIET)


def within_cap(fields: Mapping[str, Raw], most_tokens: int) -> Mapping[str, Raw]:
    """The parameters of an order, its budget for thoughts within so much output."""
    asked = decode(fields["thinking"]) if "thinking" in fields else None
    budget_tokens = asked.get("budget_tokens") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(budget_tokens, int) or budget_tokens < most_tokens:
        return fields
    if most_tokens // 2 >= BUDGET_TOKENS_LEAST:
        return {**fields, "thinking": Raw(encode({**asked, "budget_tokens": most_tokens // 2}))}
    return {name: value for name, value in fields.items() if name != "thinking"}


def _may_make_think(name: str, value: Raw) -> bool:
    if bytes(value) == NOTHING:
        return False
    return name not in NO_THOUGHTS or decode(value) not in NO_THOUGHTS[name]
