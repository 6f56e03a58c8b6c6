"""What an operator grants and announces: referral, gifts, the faucet, notices."""

from typing import Annotated

from msgspec import Meta

from tollkeeper.settings.versions import VersionsInUse

# More than nothing, to the micro-USD.
USD_FORM = r"^(?!0*\.?0*$)[0-9]{1,6}(\.[0-9]{1,6})?$"


class Terms(VersionsInUse, frozen=True, kw_only=True):
    referral_pending_days: Annotated[
        int, Meta(ge=0, le=366, description="Days until an inviter's cash can be withdrawn.")
    ] = 14
    referral_cash_cap_usd: Annotated[
        str, Meta(pattern=USD_FORM, description="Cash that an account can earn by invitations in a calendar month.")
    ] = "500"
    gift_cap_usd: Annotated[
        str, Meta(pattern=USD_FORM, description="Quota that an account can get by gift codes in a calendar month.")
    ] = "100"
    price_notice_hours: Annotated[
        int, Meta(ge=1, le=8_760, description="Hours between the announcement of a price change and its effect.")
    ] = 24
    low_balance_usd: Annotated[
        str, Meta(pattern=USD_FORM, description="Customers get a mail when what is left to them falls below this.")
    ] = "1.00"
    faucet_usd: Annotated[str, Meta(pattern=USD_FORM, description="Quota of a key from the faucet.")] = "1.00"
    faucet_days: Annotated[
        int, Meta(ge=1, le=3660, description="Days until a key from the faucet, and its quota, expire.")
    ] = 30
    faucet_per_network: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Keys that the faucet gives to one network (IPv4 /24, IPv6 /64) in 24 hours; ten times as many "
            "to an IPv6 /48.",
        ),
    ] = 10
    faucet_per_day: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Keys that the faucet gives to everybody together in 24 hours.")
    ] = 1_000
