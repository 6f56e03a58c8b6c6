"""Everything that staff can do: the acts of all rooms."""

from collections.abc import Sequence
from typing import Any

from tollkeeper.office import (
    abuse,
    accounts,
    announcements,
    attention,
    audit,
    calls,
    codes,
    customer_keys,
    disputes,
    factor_resets,
    figures,
    groups,
    house,
    logins,
    lots,
    models,
    operator_keys,
    partner,
    price_form,
    prices,
    provider_care,
    providers,
    restricting,
    top_ups,
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
    *price_form.ACTS,
    *codes.ACTS,
    *top_ups.ACTS,
    *partner.ACTS,
    *abuse.ACTS,
    *restricting.ACTS,
    *calls.ACTS,
    *disputes.ACTS,
    *factor_resets.ACTS,
    *house.ACTS,
    *attention.ACTS,
    *providers.ACTS,
    *provider_care.ACTS,
)
