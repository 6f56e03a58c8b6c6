"""The acts of prove-vendors: the same five of each vendor, whose model has a price that no other has."""

from decimal import Decimal

import msgspec

from proofs.rig.customers import PROVIDER_KEY
from proofs.rig.sdks.acts import Act
from proofs.rig.sdks.catalog import LongPrice, Model, ProviderAccount


class Vendor(msgspec.Struct, frozen=True):
    """One model, served by one account of one vendor."""

    model: Model
    account: ProviderAccount


def a_vendor(name: str, theirs: str, model: Model, *, path: str = "", embeds: str = "") -> Vendor:
    """`embeds`: the model of embeddings that the account serves as well."""
    names = {model.id: theirs} | ({embeds: "embedding-9"} if embeds else {})
    return Vendor(model, ProviderAccount(name=f"{name}-account", vendor=name, path=path, names=names))


def priced(model_id: str, price: str, long: str, *, search_musd: int = 0, **parts: str) -> Model:
    """Prices as multiplier/completion/cached: the usual one, and that of long input. Parts by their names."""
    multiplier, completion, cached = map(Decimal, price.split("/"))
    model, of_output, from_cache = map(Decimal, long.split("/"))
    return Model(
        id=model_id,
        multiplier=multiplier,
        completion=completion,
        cached=cached,
        parts={name: Decimal(times) for name, times in parts.items()},
        long=LongPrice(above_tokens=LONG_TOKENS, multiplier=model, completion=of_output, cached=from_cache),
        search_musd=search_musd,
    )


# Longer than any other act's input.
LONG_TOKENS = 1_000
GPT = priced("gpt-4o", "1.25/4/0.5", "2/3/0.5", written_5m="1.2", image_input="1.6", audio_input="8", audio_output="16")
GPT_AZURE = priced(
    "gpt-4o-azure", "1.5/3/0.25", "3/2/0.5", written_5m="1.4", image_input="2", audio_input="10", audio_output="20"
)
CLAUDE = priced("claude-opus-5", "2.5/5/0.1", "5/4/0.2", written_5m="1.25", written_1h="2", search_musd=10)
GEMINI = priced("gemini-3-pro", "1/6/0.2", "2/4.5/0.1", image_input="1.5", audio_input="3", image_output="40")

VENDORS = {
    "openai": a_vendor("openai", "gpt-4o", GPT, path="/v1", embeds="embedding-openai"),
    "azure": a_vendor("azure", "our-deployment", GPT_AZURE, embeds="embedding-azure"),
    # Anthropic has no embeddings: it is passed over for the first vendor's.
    "anthropic": a_vendor("anthropic", "claude-opus-5-20261101", CLAUDE, embeds="embedding-openai"),
    "gemini": a_vendor("gemini", "gemini-3-pro-latest", GEMINI, embeds="embedding-gemini"),
}

REJECTION = f'[[status=400 status_text="Key {PROVIDER_KEY} must not ask this."]]'
# What is ours is taken out of what the vendor says.
REJECTION_AS_TOLD = "Key … must not ask this."

ACTS_OF_EACH = {
    "plain": Act(tells_usage=True),
    "streamed": Act(prompt="Say something. [[tokens=20 chunk_ms=5]]", check="streamed with usage", tells_usage=True),
    "tool round trip": Act(prompt="Please call the tool. [[tokens=20]]", calls=2, tells_usage=True),
    "image input": Act(prompt="What is in the picture? [[tokens=20]]", tells_usage=True),
    "vendor error": Act(
        check="refused",
        prompt=f"Say something. {REJECTION}",
        status=400,
        type="invalid_request_error",
        code="provider_rejected",
        message=REJECTION_AS_TOLD,
        is_rejected=True,
    ),
}
ACTS = {
    f"{vendor}: {name}": msgspec.structs.replace(act, check=act.check or name, model=chosen.model.id)
    for vendor, chosen in VENDORS.items()
    for name, act in ACTS_OF_EACH.items()
}
