"""The acts of prove-vendors: the same five of each vendor, whose model has a price that no other has."""

from decimal import Decimal

import msgspec

from tools.proofs.sdks.acts import Act
from tools.proofs.sdks.casting import PROVIDER_KEY
from tools.proofs.sdks.catalog import Model, ProviderAccount


class Vendor(msgspec.Struct, frozen=True):
    """One model, served by one account of one vendor."""

    model: Model
    account: ProviderAccount


def a_vendor(name: str, theirs: str, model: Model, path: str = "") -> Vendor:
    account = ProviderAccount(name=f"{name}-account", vendor=name, path=path, names={model.id: theirs})
    return Vendor(model, account)


def priced(model_id: str, multiplier: str, completion: str, cached: str) -> Model:
    return Model(id=model_id, multiplier=Decimal(multiplier), completion=Decimal(completion), cached=Decimal(cached))


VENDORS = {
    "openai": a_vendor("openai", "gpt-4o", priced("gpt-4o", "1.25", "4", "0.5"), path="/v1"),
    "azure": a_vendor("azure", "our-deployment", priced("gpt-4o-azure", "1.5", "3", "0.25")),
    "anthropic": a_vendor("anthropic", "claude-opus-5-20261101", priced("claude-opus-5", "2.5", "5", "0.1")),
    "gemini": a_vendor("gemini", "gemini-3-pro-latest", priced("gemini-3-pro", "1", "6", "0.2")),
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
