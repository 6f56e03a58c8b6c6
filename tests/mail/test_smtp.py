"""Mail by SMTP, to a real server: plain on this machine, under TLS elsewhere."""

import datetime
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.mailbox import SENDER, Mailbox
from tollkeeper.core.people.mails import Mail
from tollkeeper.mail.smtp import MailServer, Security, SmtpMailer, route_of
from tollkeeper.ports.people import MailNotSent
from tollkeeper.settings import Secret
from tools.services.process import free_port

PASSWORD = Secret("pass word")
MAIL = Mail("Confirm your e-mail", "https://console.example/verify?token=" + "t" * 43 + "\n")


@contextmanager
def running(mailbox: Mailbox) -> Iterator[Mailbox]:
    mailbox.start()
    try:
        yield mailbox
    finally:
        mailbox.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a mail server")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("mail") / "server.pem"
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*plain) + made.public_bytes(serialization.Encoding.PEM))
    return path


def shown(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


async def test_a_mail_arrives_as_it_was_written() -> None:
    with running(Mailbox()) as mailbox:
        mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
        await mailer.send("ada@example.com", MAIL)
    (message,) = mailbox.messages
    assert mailbox.recipients == ["ada@example.com"]
    assert mailbox.senders == ["no-reply@tollkeeper.example"]
    assert (message["From"], message["To"], message["Subject"]) == (SENDER, "ada@example.com", MAIL.subject)
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@tollkeeper.example>")
    assert MAIL.text.strip() in mailbox.texts("ada@example.com")[0]


async def test_mail_goes_under_starttls_with_name_and_password(certificate: Path) -> None:
    mailbox = Mailbox(starttls=shown(certificate))
    mailbox.login = "ada:pass word"
    with running(mailbox):
        route = MailServer(
            host="127.0.0.1", port=mailbox.port, security=Security.STARTTLS, user="ada", password=PASSWORD
        )
        await SmtpMailer(route, sender=SENDER, trust=trusting(certificate)).send("ada@example.com", MAIL)
        with pytest.raises(MailNotSent, match="SSLCertVerificationError") as problem:
            await SmtpMailer(route, sender=SENDER).send("ada@example.com", MAIL)
    assert not problem.value.for_good
    assert len(mailbox.messages) == 1


async def test_mail_goes_under_tls_from_the_start(certificate: Path) -> None:
    with running(Mailbox(tls=shown(certificate))) as mailbox:
        route = route_of(f"smtps://127.0.0.1:{mailbox.port}")
        await SmtpMailer(route, sender=SENDER, trust=trusting(certificate)).send("ada@example.com", MAIL)
    assert len(mailbox.messages) == 1


async def test_a_server_without_starttls_gets_neither_password_nor_mail() -> None:
    with running(Mailbox()) as mailbox:
        route = MailServer(
            host="127.0.0.1", port=mailbox.port, security=Security.STARTTLS, user="ada", password=PASSWORD
        )
        with pytest.raises(MailNotSent, match="SMTPNotSupportedError") as problem:
            await SmtpMailer(route, sender=SENDER).send("ada@example.com", MAIL)
    assert not problem.value.for_good
    assert mailbox.messages == []


@pytest.mark.parametrize(
    ("refusal", "for_good"),
    [("550 ada@example.com is unknown", True), ("450 ada@example.com: try later", False)],
)
async def test_a_refusal_is_told_without_the_email(refusal: str, for_good: bool) -> None:
    with running(Mailbox()) as mailbox:
        mailbox.refusal = refusal
        mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
        with pytest.raises(MailNotSent) as problem:
            await mailer.send("ada@example.com", MAIL)
    assert problem.value.for_good is for_good
    assert "ada" not in str(problem.value)


@pytest.mark.parametrize(
    "email",
    [
        "=?utf-8?q?eve=40evil.example=3e?=@example.com",
        "ada@example.com\nBcc: eve@evil.example",
        "ada@example.com, eve@evil.example",
        "ad\u00e4@example.com",
        "ada..l@example.com",
        "ada",
        "",
    ],
)
async def test_what_is_no_plain_email_is_written_to_nobody_else(email: str) -> None:
    with running(Mailbox()) as mailbox:
        mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
        with suppress(MailNotSent):
            await mailer.send(email, MAIL)
    assert set(mailbox.recipients) <= {email}


async def test_what_cannot_be_written_is_given_up_for_good() -> None:
    with running(Mailbox()) as mailbox:
        mailer = SmtpMailer(route_of(f"smtp://127.0.0.1:{mailbox.port}"), sender=SENDER)
        for email, mail in (("ada@example.com\n", MAIL), ("ada@example.com", Mail("two\nlines", "x"))):
            with pytest.raises(MailNotSent, match="cannot be written") as problem:
                await mailer.send(email, mail)
            assert problem.value.for_good
            assert "ada" not in str(problem.value)
    assert mailbox.messages == []


async def test_a_server_that_is_away_is_told() -> None:
    with pytest.raises(MailNotSent, match="ConnectionRefusedError"):
        await SmtpMailer(route_of(f"smtp://127.0.0.1:{free_port()}"), sender=SENDER).send("ada@example.com", MAIL)


@pytest.mark.parametrize(
    ("url", "route"),
    [
        ("smtp://mail.example", ("mail.example", 587, Security.STARTTLS, "", "")),
        ("smtp://u:p%40ss@mail.example:2525", ("mail.example", 2525, Security.STARTTLS, "u", "p@ss")),
        ("smtps://u%40x:p@mail.example", ("mail.example", 465, Security.TLS, "u@x", "p")),
        ("smtp://localhost", ("localhost", 25, Security.PLAIN, "", "")),
        ("smtp://[::1]:2525", ("::1", 2525, Security.PLAIN, "", "")),
        ("smtps://localhost", ("localhost", 465, Security.TLS, "", "")),
    ],
)
def test_only_this_machine_is_written_to_in_the_clear(url: str, route: tuple[object, ...]) -> None:
    found = route_of(url)
    assert "password=•••" in repr(found)
    assert (found.host, found.port, found.security, found.user, found.password) == route
