"""What is sent to one provider account for an order: in the caller's own dialect where the account speaks it, and
translated where it does not."""

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.calls.media import MediaOrder
from tollkeeper.core.errors import UnsupportedParameter
from tollkeeper.ports import Headers, ProviderAccount, UpstreamAnswer, Vendor

NO_TRANSLATION = "it has no translation for this model's provider"


class PreparedRequest(msgspec.Struct):
    """An account, and what to send to it."""

    account: ProviderAccount
    vendor: Vendor
    address: str
    headers: Headers
    body: bytes
    # In the caller's own dialect, which this account speaks.
    is_native: bool


def prepare(
    order: ChatOrder | MediaOrder,
    account: ProviderAccount,
    vendor: Vendor,
    *,
    most_output_tokens: int,
    is_native: bool,
) -> PreparedRequest:
    """Raise BadRequest where the account cannot do what is asked."""
    if isinstance(order, MediaOrder):
        return PreparedRequest(account, vendor, *vendor.media(order, account), is_native=False)
    if order.native is not None and not is_native:
        if order.native.only_here:
            raise UnsupportedParameter(order.native.only_here, NO_TRANSLATION)
        order = msgspec.structs.replace(order, native=None)
    if order.native is not None and (refusal := order.native.refusal()) is not None:
        raise refusal
    request = vendor.chat(order, account, most_output_tokens=most_output_tokens)
    return PreparedRequest(account, vendor, *request, is_native=is_native)


def speaks_its_dialect(order: ChatOrder | MediaOrder, account: ProviderAccount, vendor: Vendor) -> bool:
    native = order.native if isinstance(order, ChatOrder) else None
    return native is not None and vendor.speaks(native.dialect, account)


def lacks_a_price(order: ChatOrder | MediaOrder) -> bool:
    """Whether accounts that speak the order's dialect cannot be sent it, because something of it has no price."""
    return isinstance(order, ChatOrder) and order.native is not None and order.native.unpriced is not None


def translated(answer: UpstreamAnswer, order: ChatOrder | MediaOrder, prepared: PreparedRequest) -> UpstreamAnswer:
    """A good answer, as our protocol has it."""
    if prepared.is_native and isinstance(order, ChatOrder):
        return prepared.vendor.read_native(answer, order)
    return prepared.vendor.translate(answer, order)
