"""A real mail server that keeps what it is given."""

import re
import ssl
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tools.services.process import free_port

SENDER = "Tollkeeper <no-reply@tollkeeper.example>"


class Mailbox(Controller):
    """Listens on a port of this machine until it is stopped."""

    def __init__(self, *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.messages: list[Message] = []
        self.senders: list[str | None] = []
        self.recipients: list[str] = []
        # What it says to every recipient, instead of taking the mail.
        self.refusal = ""
        # What whoever sends must know; empty: anybody may.
        self.login = ""
        self._starttls = starttls
        super().__init__(self, hostname="127.0.0.1", port=free_port(), ssl_context=tls)

    def factory(self) -> SMTP:
        return SMTP(
            self,
            tls_context=self._starttls,
            require_starttls=self._starttls is not None,
            auth_required=bool(self.login),
            authenticator=self._authenticate,
        )

    def _authenticate(self, *given: Any) -> AuthResult:
        password = given[-1]
        assert isinstance(password, LoginPassword)
        return AuthResult(success=b":".join((password.login, password.password)) == self.login.encode())

    async def handle_RCPT(self, *given: Any) -> str:  # noqa: N802 (the server's name for it)
        _, _, envelope, recipient, _ = given
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(recipient)
        return "250 OK"

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.senders.append(envelope.mail_from)
        self.recipients += envelope.rcpt_tos
        self.messages.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"

    def texts(self, email: str) -> list[str]:
        return [str(each.get_payload()) for each in self.messages if each["To"] == email]

    def subjects(self, email: str) -> list[str]:
        return [str(each["Subject"]) for each in self.messages if each["To"] == email]

    def last_token(self, email: str) -> str:
        found = re.search(r"token=(\w{43})", self.texts(email)[-1])
        assert found is not None
        return found[1]
