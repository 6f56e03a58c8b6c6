"""Holds by a bound: where there is quota in plenty, what is asked is counted only if somebody must know.

Rules of this file
1. A call is held for by a bound of its input where the quota that was left after its key's last hold, a moment ago, is
   many times what all such calls of its account hold, in all processes if they are as busy as this one: nobody is
   refused for what another call holds too much.
2. Its texts are kept until they are counted, or the call is over; of all calls together only so much.
3. They are counted to the end, however long that takes: a charge may go by it.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.catalog.models import Offer
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.quote import Ask, quote
from tollkeeper.relay.count_input import InputCounter, ask_of, count_for_a_while

# Less is counted in no time; more would be much to keep.
CHARACTERS = range(400, 128_000)
KEPT_CHARACTERS_MOST = 16_000_000
PLENTY = 16
# What was left longer ago says little.
LEFT_SECONDS = 60.0
KEYS_MOST = 100_000


class QuotaInPlenty:
    """What was left after each key's last hold, and what is held by bounds."""

    def __init__(self, share: Callable[[], int] = lambda: 1) -> None:
        """`share`: among how many processes calls are divided."""
        self._share = share
        # By key, and when that was.
        self._left: OrderedDict[int, tuple[Quota, float]] = OrderedDict()
        # By account.
        self._held: dict[int, int] = {}
        self._kept_characters = 0

    def ask(self, order: ChatOrder, offer: Offer, caller: KeyRecord) -> Ask | None:
        """What is asked, by a bound; None where it must be counted. The order keeps its texts."""
        characters, price_parts = order.characters, offer.rate.price.parts
        # In another dialect the answer begins with the count; and by the count a price with tiers is chosen.
        is_needed = order.native is not None or (price_parts is not None and bool(price_parts.tiers))
        if is_needed or characters not in CHARACTERS:
            return None
        caps, text_bytes = offer.model.token_caps, order.text_tokens_most
        most_tokens = order.framing_tokens + order.media_parts * caps.hold_part_tokens + text_bytes
        if most_tokens > caps.context_tokens:
            return None
        ask = ask_of(order, caps, most_tokens, uncounted_bytes=text_bytes)
        ask = msgspec.structs.replace(ask, quoted=quote(ask, caps, offer.rate))
        return ask if self.has_plenty(caller, ask.quoted, characters) else None

    def has_plenty(self, caller: KeyRecord, amount: Quota, characters: int) -> bool:
        left, at = self._left.get(caller.key_id, (0, -math.inf))
        is_known = asyncio.get_running_loop().time() - at <= LEFT_SECONDS
        held = (self._held.get(caller.account_id, 0) + amount) * self._share()
        return is_known and held * PLENTY <= left and self._kept_characters + characters <= KEPT_CHARACTERS_MOST

    def note_left(self, key_id: int, left: Quota) -> None:
        self._left[key_id] = (left, asyncio.get_running_loop().time())
        self._left.move_to_end(key_id)
        if len(self._left) > KEYS_MOST:
            self._left.popitem(last=False)

    def hold(self, account_id: int, amount: int, characters: int) -> None:
        self._held[account_id] = self._held.get(account_id, 0) + amount
        self._kept_characters += characters

    def let_go_of(self, characters: int) -> None:
        self._kept_characters -= characters

    def end(self, account_id: int, amount: int) -> None:
        left = self._held.get(account_id, 0) - amount
        if left:
            self._held[account_id] = left
        else:
            # Where all that are under way cost nothing, each that ends finds nothing held.
            self._held.pop(account_id, None)


class AskedInput:
    """What a call asks; its input by a bound, with the texts, until somebody must know what they come to."""

    __slots__ = ("_amount", "_characters", "_counter", "_counting", "_plenty", "_texts", "ask", "caller")

    def __init__(
        self, ask: Ask, order: object, caller: KeyRecord, counter: InputCounter, plenty: QuotaInPlenty
    ) -> None:
        self.ask = ask
        self.caller = caller
        self._counter = counter
        self._plenty = plenty
        # What is held for it by the bound.
        self._amount: Quota | None = None
        self._texts: Sequence[str] = ()
        self._characters = 0
        self._counting: asyncio.Future[None] | None = None
        if ask.is_bound and isinstance(order, ChatOrder):
            self._texts, self._characters, order.texts = order.texts, order.characters, ()

    @property
    def is_held_by_bound(self) -> bool:
        """Whether more is held for it than the count needs."""
        return self._amount is not None

    def take(self, amount: Quota) -> bool:
        """Take so much of the plenty, until `give_back` or `end`. Whether there was as much, or none is needed. Others
        may have taken of it since it was looked at."""
        if not self.ask.is_bound:
            return True
        if not self._plenty.has_plenty(self.caller, amount, self._characters):
            return False
        self._amount = amount
        self._plenty.hold(self.caller.account_id, amount, self._characters)
        return True

    def give_back(self) -> None:
        """Nothing is held by the bound any more."""
        amount, self._amount = self._amount, None
        if amount is not None:
            self._plenty.let_go_of(self._characters)
            self._plenty.end(self.caller.account_id, amount)

    def note_left(self, left: Quota) -> None:
        """So much was left after its hold."""
        self._plenty.note_left(self.caller.key_id, left)

    async def count(self) -> bool:
        """Whether it was not known before."""
        if not self.ask.is_bound:
            return False
        if self._counting is None:
            self._counting = asyncio.ensure_future(self._count())
        # Another may wait for the same.
        await asyncio.shield(self._counting)
        return True

    def counted(self) -> Ask:
        """For those who cannot wait."""
        if self.ask.is_bound:
            self._note(count_for_a_while(self._texts, math.inf)[0])
        return self.ask

    def end(self) -> None:
        """The call is over."""
        self.give_back()
        self._texts, self._characters = (), 0

    async def _count(self) -> None:
        try:
            self._note(await self._counter.count_each(self._texts, owner=self.caller.account_id, seconds_most=math.inf))
        finally:
            self._counting = None

    def _note(self, counts: Sequence[int]) -> None:
        """Unless another was quicker, or the call is over."""
        if not (self.ask.is_bound and self._texts):
            return
        input_units = self.ask.input_units - self.ask.uncounted_bytes + sum(counts)
        self.ask = msgspec.structs.replace(self.ask, input_units=input_units, uncounted_bytes=0, quoted=Quota(0))
        if self._amount is not None:
            self._plenty.let_go_of(self._characters)
        self._texts, self._characters = (), 0
