"""A mail server that keeps what it is given, as it came."""

from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from tools.services.process import free_port


class Mailbox(Controller):
    """Listens on a port of this machine from start to stop."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        super().__init__(self, hostname="127.0.0.1", port=free_port())

    def factory(self) -> SMTP:
        return SMTP(self)

    async def handle_DATA(self, *given: Any) -> str:  # noqa: N802 - the server's name for it
        envelope = given[-1]
        self.mails.append("\n".join(envelope.rcpt_tos).encode() + b"\n" + envelope.content)
        return "250 OK"
