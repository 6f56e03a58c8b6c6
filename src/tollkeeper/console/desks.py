"""What pages work with: the ports, and what they must know of this deployment."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from tollkeeper.accounts.chat import ChatDesk
from tollkeeper.accounts.keys import KeyMaker
from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.core.client_ip import Network, read_ip
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.partner.plan import ReferralTerms
from tollkeeper.core.people.passkeys import RelyingParty
from tollkeeper.office.desks import Office
from tollkeeper.ports import Catalog, Faucet, KeyDesk, PartnerDesk, Receipts, Redemptions
from tollkeeper.ports.announcements import AnnouncementDesk
from tollkeeper.ports.brand import BrandBook
from tollkeeper.ports.catalog.prices import PriceDesk, PriceList
from tollkeeper.ports.customers.closing import Closings
from tollkeeper.ports.customers.faucet import FaucetTerms
from tollkeeper.ports.customers.lots import LotDesk, Statements
from tollkeeper.ports.customers.notices import NoticeDesk
from tollkeeper.ports.customers.sent_forms import SentForms
from tollkeeper.ports.customers.wallet import Wallets
from tollkeeper.ports.disputes import Disputes
from tollkeeper.ports.people import SecondFactor
from tollkeeper.ports.usage import LogSite, UsageLog

USUAL_PORTS = {"https": 443, "http": 80}


class Desks(msgspec.Struct, frozen=True, kw_only=True):
    front_desk: FrontDesk
    second_factor: SecondFactor
    wallets: Wallets
    sent_forms: SentForms
    closings: Closings
    notices: NoticeDesk
    announcements: AnnouncementDesk
    brand: BrandBook
    # Below which customers are told that little is left, where they chose nothing else.
    low_balance: Quota
    keys: KeyDesk
    key_maker: KeyMaker
    lots: LotDesk
    statements: Statements
    redemptions: Redemptions
    referral_terms: ReferralTerms
    partners: PartnerDesk
    faucet: Faucet
    faucet_terms: FaucetTerms
    usage: UsageLog
    # None where cleaned logs are copied nowhere.
    log_site: LogSite | None
    receipts: Receipts
    disputes: Disputes
    catalog: Catalog
    prices: PriceDesk
    price_list: PriceList
    chat: ChatDesk
    # What staff work with.
    office: Office
    # A refusal of the database's in words, if it was one.
    database_words: Callable[[Exception], str | None]
    now: Callable[[], datetime]
    # Why the console cannot serve, for operators; empty where it can.
    why_not_ready: Callable[[], Awaitable[str]]


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """This deployment, as pages speak of it."""

    # Of the service, as people know it.
    name: str
    # https://console.example.com; empty: whatever address the visitor used, over plain HTTP.
    console_url: str
    # https://api.example.com: what callers give their programs, without /v1.
    main_url: str
    # Whether mails go out at all.
    sends_mail: bool
    trusted_proxies: tuple[Network, ...]
    # Under which tokens of forms are made. The same in every process of the console.
    secret: bytes

    @property
    def sends_links(self) -> bool:
        """Mails with a link wait until the console's URL is known."""
        return self.sends_mail and bool(self.console_url)

    @property
    def is_secure(self) -> bool:
        return self.console_url.startswith("https://")

    @property
    def origin(self) -> str:
        parts = urlsplit(self.console_url)
        return f"{parts.scheme}://{parts.netloc}" if self.console_url else ""

    @property
    def passkeys_for(self) -> RelyingParty | None:
        """None where browsers make no passkeys: they want HTTPS, or this very machine, and a name instead of an IP."""
        parts = urlsplit(self.console_url)
        host = parts.hostname or ""
        if not (self.is_secure or host == "localhost") or read_ip(host) is not None:
            return None
        usual = parts.port is None or parts.port == USUAL_PORTS[parts.scheme]
        origin = f"{parts.scheme}://{host}" if usual else f"{parts.scheme}://{host}:{parts.port}"
        return RelyingParty(host=host, origin=origin, name=self.name)
