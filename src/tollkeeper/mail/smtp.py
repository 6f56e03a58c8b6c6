"""Mail by SMTP, with the standard library's client in a thread.

Rules of this file
1. `smtp://` goes on only under STARTTLS, unless the server is this very machine; `smtps://` is TLS from the start.
   Certificates are checked.
2. What the server says may quote the e-mail: only its code is told.
3. A mail goes to the one e-mail that it was meant for, or to nobody: what that would be is never read from its header.
"""

import asyncio
import smtplib
import ssl
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr
from enum import StrEnum
from urllib.parse import unquote, urlsplit

import msgspec

from tollkeeper.core.people.mails import Mail
from tollkeeper.ports.people import MailNotSent
from tollkeeper.settings import Secret

# Of each step of the conversation: a mail takes eight or so, and its claim lasts two minutes.
STEP_SECONDS = 12.0
# Links stay in one piece: the longest line that mail may have.
FORM = SMTP.clone(max_line_length=998)
THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}


class Security(StrEnum):
    PLAIN = "plain"
    STARTTLS = "starttls"
    TLS = "tls"


class MailServer(msgspec.Struct, frozen=True, kw_only=True):
    """The way to the mail server."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: Secret = Secret()


def route_of(url: str) -> MailServer:
    """Read smtp://user:password@host:587 or smtps://…"""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    if parts.scheme == "smtps":
        security, usual_port = Security.TLS, 465
    else:
        security, usual_port = (Security.PLAIN, 25) if host in THIS_MACHINE else (Security.STARTTLS, 587)
    return MailServer(
        host=host,
        port=parts.port or usual_port,
        security=security,
        user=unquote(parts.username or ""),
        password=Secret(unquote(parts.password or "")),
    )


class SmtpMailer:
    """Sends one mail on a connection of its own."""

    def __init__(self, route: MailServer, *, sender: str, trust: ssl.SSLContext | None = None) -> None:
        self._route = route
        self._sender = sender
        self._trust = trust or ssl.create_default_context()

    async def send(self, email: str, mail: Mail) -> None:
        """Raise MailNotSent."""
        try:
            await asyncio.to_thread(self._deliver, email, self._message(email, mail))
        except smtplib.SMTPRecipientsRefused as problem:
            codes = [code for code, _ in problem.recipients.values()]
            raise MailNotSent(f"the recipient was refused: {codes}", for_good=min(codes, default=0) >= 500) from None
        except smtplib.SMTPResponseException as problem:
            raise MailNotSent(f"{type(problem).__name__} {problem.smtp_code}", for_good=False) from None
        except (smtplib.SMTPException, OSError) as problem:
            raise MailNotSent(type(problem).__name__, for_good=False) from None
        except (ValueError, LookupError, MessageError) as problem:
            # What cannot be written now cannot be written later either. (Odd e-mails make the parser stumble.)
            raise MailNotSent(f"it cannot be written: {type(problem).__name__}", for_good=True) from None

    async def greet(self) -> None:
        """Connect and sign in, and send nothing. Raise MailNotSent."""
        try:
            await asyncio.to_thread(self._signed_in_and_out)
        except smtplib.SMTPResponseException as problem:
            raise MailNotSent(f"{type(problem).__name__} {problem.smtp_code}", for_good=False) from None
        except (smtplib.SMTPException, OSError) as problem:
            raise MailNotSent(type(problem).__name__, for_good=False) from None

    def _message(self, email: str, mail: Mail) -> EmailMessage:
        message = EmailMessage(policy=FORM)
        message["From"], message["To"], message["Subject"] = self._sender, Address(addr_spec=email), mail.subject
        message["Date"] = formatdate()
        message["Message-ID"] = make_msgid(domain=parseaddr(self._sender)[1].rpartition("@")[2] or None)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(mail.text)
        return message

    def _deliver(self, email: str, message: EmailMessage) -> None:
        with self._connected() as server:
            self._sign_in(server)
            server.send_message(message, to_addrs=[email])

    def _signed_in_and_out(self) -> None:
        with self._connected() as server:
            self._sign_in(server)
            server.noop()

    def _sign_in(self, server: smtplib.SMTP) -> None:
        if self._route.security is Security.STARTTLS:
            server.starttls(context=self._trust)
        if self._route.user:
            server.login(self._route.user, self._route.password.reveal())

    def _connected(self) -> smtplib.SMTP:
        host, port = self._route.host, self._route.port
        if self._route.security is Security.TLS:
            return smtplib.SMTP_SSL(host, port, timeout=STEP_SECONDS, context=self._trust)
        return smtplib.SMTP(host, port, timeout=STEP_SECONDS)
