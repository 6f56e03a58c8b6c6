"""Everything that staff can do: the acts of all rooms."""

from collections.abc import Sequence
from typing import Any

from tollkeeper.office import (
    abuse,
    accounts,
    announcements,
    audit,
    brand,
    calls,
    codes,
    customer_keys,
    figures,
    groups,
    house,
    logins,
    lots,
    models,
    operator_keys,
    partner,
    prices,
    provider_care,
    providers,
    top_ups,
    webhooks,
)
from tollkeeper.office.act import Act

ACTS: Sequence[Act[Any, Any]] = (
    *accounts.ACTS,
    *announcements.ACTS,
    *audit.ACTS,
    *figures.ACTS,
    *customer_keys.ACTS,
    *logins.ACTS,
    *lots.ACTS,
    *groups.ACTS,
    *models.ACTS,
    *operator_keys.ACTS,
    *prices.ACTS,
    *codes.ACTS,
    *top_ups.ACTS,
    *partner.ACTS,
    *abuse.ACTS,
    *calls.ACTS,
    *house.ACTS,
    *providers.ACTS,
    *provider_care.ACTS,
    *webhooks.ACTS,
    *brand.ACTS,
)
