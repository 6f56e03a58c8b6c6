"""Logins and mails."""

import secrets

from tollkeeper.accounts.people.front_desk import FrontDesk
from tollkeeper.app.secrets import envelope_keys_of, peppers_of
from tollkeeper.mail.smtp import SmtpMailer, route_of
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.sent_forms import SqlSentForms
from tollkeeper.storage.people.email_changes import SqlEmailChanges
from tollkeeper.storage.people.factor_resets import SqlFactorResets
from tollkeeper.storage.people.lockouts import SqlLockouts
from tollkeeper.storage.people.logins import SqlLogins
from tollkeeper.storage.people.passkeys import SqlPasskeys
from tollkeeper.storage.people.password_hashes import Argon2Hashes
from tollkeeper.storage.people.readings import SqlReadAsDesk
from tollkeeper.storage.people.second_factors import SqlSecondFactors
from tollkeeper.storage.people.sessions import SqlSessions
from tollkeeper.storage.people.sign_ups import SqlSignUps
from tollkeeper.storage.postgres.database import Database


def front_desk_of(settings: Settings, database: Database) -> FrontDesk:
    peppers = peppers_of(settings)
    return FrontDesk(
        sign_ups=SqlSignUps(database),
        logins=SqlLogins(database),
        email_changes=SqlEmailChanges(database),
        sessions=SqlSessions(database),
        readings=SqlReadAsDesk(database),
        second_factors=SqlSecondFactors(database, envelope_keys_of(settings), peppers),
        passkeys=SqlPasskeys(database),
        factor_resets=SqlFactorResets(database),
        sent_forms=SqlSentForms(database),
        lockouts=SqlLockouts(database, peppers),
        hashes=Argon2Hashes(),
        peppers=peppers,
        choose=secrets.choice,
        issuer=settings.provider_domain,
    )


def mailer_of(settings: Settings) -> SmtpMailer | None:
    if not settings.smtp_url:
        return None
    return SmtpMailer(route_of(settings.smtp_url.reveal()), sender=settings.mail_from)
