"""Send the mails that wait in the outbox.

Rules of this file
1. Each is claimed first, so that several workers send it once; one whose worker dies is claimed again.
2. Each is tried by itself: whatever is wrong with one, the others go out.
3. Logs name a mail by its number, never by its e-mail or what it says.
"""

import asyncio
import logging
from functools import partial

from tollkeeper.core.mails import compose
from tollkeeper.ports.logins import Claim, Mailer, MailNotSent, Outbox
from tollkeeper.steady import survive

log = logging.getLogger(__name__)


class Postman:
    def __init__(self, outbox: Outbox, mailer: Mailer | None, *, console_url: str) -> None:
        self._outbox = outbox
        self._mailer = mailer
        self._console_url = console_url
        self._told_waiting = 0

    async def round(self) -> int:
        """One round; how many mails were sent."""
        given_up = await self._outbox.give_up_old()
        if given_up:
            log.error("%d mails could not be sent for a day and were given up", given_up)
        if self._mailer is None:
            await self._tell_of_waiting()
            return 0
        sent: list[Claim] = []
        while claims := await self._outbox.claim():
            deliver = partial(self._deliver, self._mailer, sent)
            await asyncio.gather(*(survive(_name(claim), partial(deliver, claim)) for claim in claims))
        return len(sent)

    async def _deliver(self, mailer: Mailer, sent: list[Claim], claim: Claim) -> None:
        letter = await self._outbox.letter(claim)
        if letter is None:
            return
        mail = compose(letter.kind, token=letter.token, console_url=self._console_url, figures=letter.figures)
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


def _name(claim: Claim) -> str:
    return f"mail {claim.outbox_id} at attempt {claim.attempts}"
