"""What can be said of provider accounts here: the vendors, and the parameters of the protocol."""

from tollkeeper.accounts.providers.description import ProviderTerms
from tollkeeper.app.providers import VENDORS
from tollkeeper.providers.vendors.fields import CAN_BE_REJECTED
from tollkeeper.providers.vendors.passes import COMPATIBLE, can_be_passed


def provider_terms(*, private_allowed: bool) -> ProviderTerms:
    return ProviderTerms(
        vendors=tuple(VENDORS),
        can_be_rejected=CAN_BE_REJECTED,
        can_be_passed=can_be_passed,
        compatible=COMPATIBLE,
        private_allowed=private_allowed,
    )
