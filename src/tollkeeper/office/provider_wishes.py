"""What acts on provider accounts are asked. A provider's key comes in a body, never in an address."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from tollkeeper.accounts.providers.health import HealthTag
from tollkeeper.office.lists import Paging
from tollkeeper.office.wishes import ReasonText

LIMIT_MOST = 2**31 - 1
TIER_MOST = 2**15 - 1
WEIGHT_MOST = 1_000
NAMES_MOST = 100

ProviderAccountName = Annotated[str, msgspec.Meta(min_length=1, max_length=64, description="The account's name.")]
ProviderKey = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096, description="Its key at the provider.")]
BaseUrl = Annotated[str, msgspec.Meta(min_length=1, max_length=500, description="Where it is: https://host/v1")]
PoolTier = Annotated[int, msgspec.Meta(ge=1, le=TIER_MOST, description="Lower tiers are used before higher ones.")]
PoolWeight = Annotated[
    int, msgspec.Meta(ge=0, le=WEIGHT_MOST, description="Its share of its tier's calls; 0 for none.")
]
RequestsPerMinute = Annotated[int, msgspec.Meta(ge=1, le=LIMIT_MOST, description="Requests a minute.")]
TokensPerMinute = Annotated[int, msgspec.Meta(ge=1, le=LIMIT_MOST, description="Tokens a minute.")]
CallsAtOnce = Annotated[int, msgspec.Meta(ge=1, le=LIMIT_MOST, description="Calls at once.")]
SoldModelId = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
NamesThere = Annotated[
    dict[SoldModelId, Annotated[str, msgspec.Meta(min_length=1, max_length=200)]],
    msgspec.Meta(min_length=1, max_length=2_000, description="By our id of a model, the provider's name for it."),
]
EveryModel = Annotated[bool, msgspec.Meta(description="It serves every model of the catalog, under our names.")]
CostMultiplier = Annotated[
    str, msgspec.Meta(max_length=40, description="What it costs us, as a part of the list price: `0.8`.")
]
ParameterNames = Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=NAMES_MOST)]
InterfaceVersion = Annotated[str, msgspec.Meta(max_length=40, description="The version of the vendor's interface.")]
PlainHttpAllowed = Annotated[bool, msgspec.Meta(description="Allow http:// beyond this host.")]


class NewProviderWish(msgspec.Struct, frozen=True, kw_only=True):
    """Without `models` an account at a vendor's own address serves that vendor's family of models."""

    name: ProviderAccountName
    base_url: BaseUrl
    key: ProviderKey
    vendor: Annotated[str, msgspec.Meta(max_length=32, description="Its wire format.")] = "openai"
    tier: PoolTier = 1
    weight: PoolWeight = 1
    requests_per_minute: RequestsPerMinute | None = None
    tokens_per_minute: TokensPerMinute | None = None
    concurrency: CallsAtOnce | None = None
    models: NamesThere | None = None
    all_models: EveryModel = False
    cost_multiplier: CostMultiplier = "1"
    rejects: ParameterNames = []
    passes: ParameterNames = []
    api_version: InterfaceVersion | None = None
    insecure_http: PlainHttpAllowed = False
    tested: Annotated[
        bool,
        msgspec.Meta(
            description="Make live calls first, at the provider's price, and add it only if its key is accepted and "
            "an answer comes."
        ),
    ] = False
    reason: ReasonText = ""


class ProviderChangeWish(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes different; what is left out stays as it is, and null takes a limit away. `models`, `rejects` and
    `passes` are given anew as a whole; `models` of null: the family of a vendor's own address."""

    name: ProviderAccountName
    base_url: BaseUrl | UnsetType = UNSET
    # Asked for where the address has another host, and only there.
    key: ProviderKey | UnsetType = UNSET
    tier: PoolTier | UnsetType = UNSET
    weight: PoolWeight | UnsetType = UNSET
    requests_per_minute: RequestsPerMinute | UnsetType | None = UNSET
    tokens_per_minute: TokensPerMinute | UnsetType | None = UNSET
    concurrency: CallsAtOnce | UnsetType | None = UNSET
    models: NamesThere | UnsetType | None = UNSET
    all_models: EveryModel = False
    cost_multiplier: CostMultiplier | UnsetType = UNSET
    rejects: ParameterNames | UnsetType = UNSET
    passes: ParameterNames | UnsetType = UNSET
    api_version: InterfaceVersion | UnsetType | None = UNSET
    insecure_http: PlainHttpAllowed = False
    reason: ReasonText = ""


class ProvidersWish(Paging, frozen=True, kw_only=True):
    find: Annotated[str, msgspec.Meta(max_length=64, description="Part of the account's name; empty: all.")] = ""
    vendor: Annotated[str, msgspec.Meta(max_length=32, description="Of one wire format; empty: of all.")] = ""
    tag: Annotated[HealthTag | None, msgspec.Meta(description="How they are doing; left out: however.")] = None


class ProviderWish(msgspec.Struct, frozen=True, kw_only=True):
    name: ProviderAccountName


class ProviderReason(ProviderWish, frozen=True, kw_only=True):
    reason: ReasonText


class ProviderResumeWish(ProviderWish, frozen=True, kw_only=True):
    reason: ReasonText = ""


class ProviderKeyWish(ProviderWish, frozen=True, kw_only=True):
    key: ProviderKey
    untested: Annotated[bool, msgspec.Meta(description="Take it without asking the provider.")] = False
    reason: ReasonText = ""


class ProviderTrialWish(ProviderWish, frozen=True, kw_only=True):
    model: (
        Annotated[str, msgspec.Meta(min_length=1, max_length=128, description="Our id of the model to call.")] | None
    ) = None
