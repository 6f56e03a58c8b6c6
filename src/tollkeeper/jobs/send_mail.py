"""Send the mails that wait in the outbox.

Rules of this file
1. Each is claimed first, so that several workers send it once; one whose worker dies is claimed again.
2. Each is tried by itself: whatever is wrong with one, the others go out.
3. A mail with a link waits for the console's URL, like one that was not taken: it is tried again for a day.
4. Logs name a mail by its number, never by its e-mail or what it says.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from tollkeeper.core.brand import Brand
from tollkeeper.core.people.mails import compose, has_link, signed
from tollkeeper.ports.people import ClaimedMail, Mailer, MailNotSent, Outbox
from tollkeeper.steady import run_and_log

log = logging.getLogger(__name__)

FindBrand = Callable[[], Awaitable[Brand]]


class Postman:
    def __init__(
        self, outbox: Outbox, mailer: Mailer | None, *, console_url: str, brand: FindBrand | None = None
    ) -> None:
        """`brand`: whose name stands below mails; None: nobody's."""
        self._outbox = outbox
        self._mailer = mailer
        self._console_url = console_url
        self._find_brand = brand
        self._brand = Brand()
        self._told_waiting = 0

    async def round(self) -> int:
        """One round; how many mails were sent."""
        given_up = await self._outbox.give_up_old()
        if given_up:
            log.error("%d mails could not be sent for a day and were given up", given_up)
        if self._mailer is None:
            await self._tell_of_waiting()
            return 0
        if self._find_brand is not None:
            self._brand = await self._find_brand()
        sent: list[ClaimedMail] = []
        while claims := await self._outbox.claim():
            deliver = partial(self._deliver, self._mailer, sent)
            await asyncio.gather(*(run_and_log(_name(claim), partial(deliver, claim)) for claim in claims))
        return len(sent)

    async def _deliver(self, mailer: Mailer, sent: list[ClaimedMail], claim: ClaimedMail) -> None:
        letter = await self._outbox.letter(claim)
        if letter is None:
            return
        if has_link(letter.kind) and not self._console_url:
            log.warning("%s is not sent: it has a link, and TOLLKEEPER_CONSOLE_URL is not set", _name(claim))
            return
        mail = compose(letter.kind, token=letter.token, console_url=self._console_url, figures=letter.figures)
        mail = signed(mail, name=self._brand.name, support=self._brand.support)
        try:
            await mailer.send(letter.email, mail)
        except MailNotSent as problem:
            log.warning("%s was not sent: %s", _name(claim), problem)
            if problem.for_good:
                await self._outbox.give_up(claim.outbox_id)
            return
        sent.append(claim)
        await self._outbox.sent(claim.outbox_id)

    async def _tell_of_waiting(self) -> None:
        waiting = await self._outbox.waiting()
        if waiting > self._told_waiting:
            log.warning("%d mails wait and are not sent: TOLLKEEPER_SMTP_URL is not set", waiting)
        self._told_waiting = waiting


def _name(claim: ClaimedMail) -> str:
    return f"mail {claim.outbox_id} at attempt {claim.attempts}"
