"""Who the demo is about: Ada, the friends who invite each other, her codes, keys and cash. By days before today."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import msgspec
import pyotp

from tollkeeper.accounts.keys import KeyWish, create_key, rotate_key
from tollkeeper.accounts.money.codes import BatchWish, export_codes, make_batch
from tollkeeper.accounts.money.faucet import pour
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.accounts.partner import approve_withdrawal, pay_withdrawal, request_withdrawal
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.second_factor import (
    confirm_second_factor,
    propose_second_factor,
    turn_off_second_factor,
)
from tollkeeper.accounts.people.sessions import session_of
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.accounts.people.sign_up import SignUpWish, request_sign_up, verify_sign_up
from tollkeeper.core.client_ip import read_networks
from tollkeeper.core.money.amounts import Quota, quota_from_usd
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.core.people.totp import STEP_SECONDS
from tollkeeper.demo.past.house import DemoHouse
from tollkeeper.ports.partner import NewWithdrawal

EMAIL = "ada@example.com"
# Grace invited Ada, who invited the others.
EMAILS = {"Ada": EMAIL} | {name: f"{name.lower()}@example.org" for name in ("Grace", "Lin", "Omar", "Yuki")}
PAYEE = "Ada, IBAN DE02 1203 0000 0000 2020 51"
STEP = timedelta(seconds=STEP_SECONDS)
KEPT_AFTER_ROTATION = timedelta(days=7)
DESK = RequestOrigin(ip="203.0.113.24", agent="Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0")
PHONE = RequestOrigin(
    ip="198.51.100.7",
    agent="Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile"
    " Safari/537.36",
)


class PlannedKey(msgspec.Struct, frozen=True, kw_only=True):
    made_days_back: float
    quota_usd: str | None = None
    daily_usd: str | None = None
    monthly_usd: str | None = None
    only_models: tuple[str, ...] | None = None
    only_networks: tuple[str, ...] | None = None
    lives_days: float | None = None


KEYS: Mapping[str, PlannedKey] = {
    "laptop": PlannedKey(made_days_back=58.4),
    "backend": PlannedKey(made_days_back=57.3, monthly_usd="40", only_networks=("198.51.100.0/24",)),
    "old phone": PlannedKey(made_days_back=56.1),
    "pictures": PlannedKey(made_days_back=43.8, daily_usd="1", only_models=("dall-e-3", "dall-e-2")),
    "podcast": PlannedKey(made_days_back=42.6, only_models=("tts-1", "tts-1-hd", "whisper-1")),
    # Nearly used up: nothing is begun any more that could be more than is left.
    "newsletter bot": PlannedKey(made_days_back=42.2, quota_usd="1.90"),
    "staging": PlannedKey(made_days_back=35.4, monthly_usd="5"),
    "workshop": PlannedKey(made_days_back=10.5, quota_usd="5", lives_days=13.1),
}


class Cast:
    """The people of the demo, and what they have by now."""

    def __init__(self, house: DemoHouse, password: str) -> None:
        """`password`: of all of them."""
        self.house = house
        self._password = password
        self.accounts: dict[str, int] = {}
        # By name: number and text.
        self.keys: dict[str, tuple[int, str]] = {}
        self._totp = ""

    @property
    def ada(self) -> int:
        return self.accounts["Ada"]

    async def sign_up(self, name: str, *, invited_by: str = "") -> None:
        """By a mail and its link."""
        email, desk, jobs = EMAILS[name], self.house.front_desk, self.house.jobs
        gift_code = await self.gift_code(invited_by) if invited_by else ""
        await request_sign_up(desk, SignUpWish(email=email, name=name, gift_code=gift_code), RequestOrigin())
        await jobs.send_mail()
        self.accounts[name] = await verify_sign_up(desk, jobs.letters.token(email), self._password)

    async def gift_code(self, name: str) -> str:
        return (await self.house.desk.partners.statement(self.accounts[name])).gift_code

    async def a_code(self, usd: str, months: int) -> str:
        """As somebody sold it."""
        desk = self.house.desk
        wish = BatchWish(codes=1, usd_micros=micros_from_usd(Decimal(usd)), months=months, note="demo")
        batch = await make_batch(wish, str(uuid4()), desk.codes, by=desk.operator)
        [code] = await export_codes(batch.batch_id, secrets.choice, desk.codes, by=desk.operator)
        return code

    async def top_up(self, name: str, usd: str, *, months: int = 9, gift_code_of: str = "") -> None:
        wish = RedeemWish(
            account_id=self.accounts[name],
            code=await self.a_code(usd, months),
            gift_code=await self.gift_code(gift_code_of) if gift_code_of else None,
            ip=None,
        )
        desk = self.house.desk
        await redeem(wish, desk.referral_terms, desk.redemptions, actor=f"account:{wish.account_id}")

    async def make_key(self, name: str, now: datetime) -> None:
        plan = KEYS[name]
        wish = KeyWish(
            account_id=self.ada,
            name=name,
            quota=_quota(plan.quota_usd),
            daily_budget=_quota(plan.daily_usd),
            monthly_budget=_quota(plan.monthly_usd),
            only_models=plan.only_models,
            only_networks=read_networks(plan.only_networks) if plan.only_networks else None,
            expires_at=None if plan.lives_days is None else now + timedelta(days=plan.lives_days),
        )
        desk = self.house.desk
        issued = await create_key(wish, desk.key_maker, desk.keys, actor=self._herself)
        self.keys[name] = (issued.key_id, issued.key)

    async def rotate(self, name: str) -> None:
        desk, (key_id, _) = self.house.desk, self.keys[name]
        keep_seconds = int(KEPT_AFTER_ROTATION.total_seconds())
        issued = await rotate_key(
            key_id, keep_seconds, desk.key_maker, desk.keys, account_id=self.ada, actor=self._herself
        )
        self.keys[name] = (key_id, issued.key)

    async def pause(self, name: str) -> None:
        await self.house.desk.keys.pause(self.keys[name][0], account_id=self.ada, actor=self._herself)

    async def revoke(self, name: str) -> None:
        await self.house.desk.keys.revoke(self.keys[name][0], account_id=self.ada, actor=self._herself)

    async def ask_the_faucet(self) -> None:
        desk = self.house.desk
        await pour(self.ada, DESK.ip, desk.faucet_terms, desk.key_maker, desk.faucet)

    async def sign_in(self, origin: RequestOrigin) -> str:
        given = Credentials(email=EMAIL, password=self._password)
        return (await sign_in(self.house.front_desk, given, origin)).token

    async def set_up_second_factor(self, now: datetime) -> None:
        desk = self.house.front_desk
        session = await session_of(desk, await self.sign_in(DESK))
        self._totp = (await propose_second_factor(desk, session, self._password)).secret
        await confirm_second_factor(desk, session, self._code(now))
        await self.house.jobs.send_mail()

    async def withdraw(self, usd: str, now: datetime) -> None:
        desk = self.house.desk
        wish = NewWithdrawal(account_id=self.ada, usd_micros=micros_from_usd(Decimal(usd)), payee=PAYEE)
        await request_withdrawal(wish, self._code(now), desk.second_factor, desk.partners)

    async def pay_withdrawal(self) -> None:
        desk = self.house.desk
        [asked] = await desk.partners.withdrawals()
        await approve_withdrawal(asked.id, "rewards looked through", desk.partners, by=desk.operator)
        await pay_withdrawal(asked.id, "transfer 2291", desk.partners, by=desk.operator)

    async def give_up_second_factor(self, now: datetime) -> None:
        """So that whoever looks at the demo signs in with the password alone."""
        desk = self.house.front_desk
        given = Credentials(email=EMAIL, password=self._password, code=self._code(now))
        session = await session_of(desk, (await sign_in(desk, given, DESK)).token)
        # That code is spent; clocks may go wrong by one step.
        await turn_off_second_factor(desk, session, self._code(now + STEP))
        await self.house.jobs.send_mail()

    def _code(self, now: datetime) -> str:
        return pyotp.TOTP(self._totp).at(now)

    @property
    def _herself(self) -> str:
        return f"account:{self.ada}"


def _quota(usd: str | None) -> Quota | None:
    return None if usd is None else quota_from_usd(Decimal(usd))
