"""Holds by a bound: where there is quota in plenty, what is asked is counted only if somebody must know.

Rules of this file
1. A call is held for by a bound of its input where the quota that was left after its key's last hold is many times what
   all such calls of its account hold in this process: nobody is refused for what another call holds too much.
2. Its texts are kept until they are counted, or the call is over; of all calls together only so much.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from tollkeeper.core.calls.chat import ChatOrder
from tollkeeper.core.catalog.models import Offer
from tollkeeper.core.keys import KeyRecord
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.quote import Ask, quote
from tollkeeper.relay.count_input import InputCounter, ask_of, count_for_a_while
from tollkeeper.relay.dispatch.attempt import Attempt

# Less is counted in no time; more would be much to keep.
CHARACTERS = range(1_000, 128_000)
KEPT_CHARACTERS_MOST = 16_000_000
PLENTY = 16
KEYS_MOST = 100_000


class QuotaInPlenty:
    """What was left after each key's last hold, and what is held by bounds."""

    def __init__(self) -> None:
        self._left: OrderedDict[int, Quota] = OrderedDict()
        # By account.
        self._held: dict[int, int] = {}
        self._kept_characters = 0

    def ask(self, order: ChatOrder, offer: Offer, caller: KeyRecord) -> Ask | None:
        """What is asked, by a bound; None where it must be counted. The order keeps its texts."""
        characters, price_parts = order.characters, offer.rate.price.parts
        # In another dialect the answer begins with the count; and by the count a price with tiers is chosen.
        is_needed = order.native is not None or (price_parts is not None and bool(price_parts.tiers))
        if is_needed or characters not in CHARACTERS or self._kept_characters + characters > KEPT_CHARACTERS_MOST:
            return None
        caps = offer.model.token_caps
        most_tokens = order.framing_tokens + order.media_parts * caps.hold_part_tokens + order.text_tokens_most
        if most_tokens > caps.context_tokens:
            return None
        ask = ask_of(order, caps, most_tokens, is_bound=True)
        held = quote(ask, caps, offer.rate) + self._held.get(caller.account_id, 0)
        return ask if held * PLENTY <= self._left.get(caller.key_id, 0) else None

    def note_left(self, key_id: int, left: Quota) -> None:
        self._left[key_id] = left
        self._left.move_to_end(key_id)
        if len(self._left) > KEYS_MOST:
            self._left.popitem(last=False)

    def begin(self, account_id: int, amount: int, characters: int) -> None:
        self._held[account_id] = self._held.get(account_id, 0) + amount
        self._kept_characters += characters

    def let_go_of(self, characters: int) -> None:
        self._kept_characters -= characters

    def end(self, account_id: int, amount: int) -> None:
        left = self._held[account_id] - amount
        if left:
            self._held[account_id] = left
        else:
            del self._held[account_id]


class AskedInput:
    """What a call asks; its input by a bound, with the texts, until somebody must know what they come to."""

    __slots__ = ("_amount", "_beside_tokens", "_characters", "_counter", "_plenty", "_texts", "ask", "caller")

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
        self._characters = self._beside_tokens = 0
        if ask.is_bound and isinstance(order, ChatOrder):
            self._texts, self._characters = order.texts, order.characters
            self._beside_tokens = ask.input_units - order.text_tokens_most
            order.texts = ()

    def begin(self, amount: Quota, left: Quota) -> None:
        """So much is held for it until its `end`, and so much is left."""
        self._plenty.note_left(self.caller.key_id, left)
        if self.ask.is_bound:
            self._amount = amount
            self._plenty.begin(self.caller.account_id, amount, self._characters)

    async def count(self) -> bool:
        """Whether it was not known before."""
        if not self.ask.is_bound:
            return False
        counts = await self._counter.count_each(self._texts, owner=self.caller.account_id)
        self._note(sum(counts))
        return True

    async def count_if_due(self, attempts: Sequence[Attempt], *, is_reported: bool) -> None:
        """Count where no provider says what the input came to, or an attempt that failed may have cost us."""
        dear = [attempt for attempt in attempts if attempt.may_have_cost]
        if dear and (not is_reported or any(attempt.outcome for attempt in dear)):
            await self.count()

    def counted(self) -> Ask:
        """For those who cannot wait."""
        if self.ask.is_bound:
            self._note(sum(count_for_a_while(self._texts)[0]))
        return self.ask

    def end(self) -> None:
        """The call is over."""
        self._forget()
        if self._amount is not None:
            self._plenty.end(self.caller.account_id, self._amount)
        self._amount = None

    def _note(self, text_tokens: int) -> None:
        """Unless another was quicker."""
        if self.ask.is_bound and self._texts:
            counted_units = self._beside_tokens + text_tokens
            self.ask = msgspec.structs.replace(self.ask, input_units=counted_units, is_bound=False)
            self._forget()

    def _forget(self) -> None:
        if self._amount is not None:
            self._plenty.let_go_of(self._characters)
        self._texts, self._characters = (), 0
