"""What `tollkeeper doctor` looks at, in the order in which a person would mend it.

Rules of this file
1. Nothing is changed: no table, no folder, no mail.
2. What cannot be looked at before something else is mended is left out, and the line of that other thing is there.
"""

import asyncio
import os
import shutil
import socket
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tollkeeper.app.database import database_of
from tollkeeper.app.people import mailer_of
from tollkeeper.app.rotation import mark_is_right
from tollkeeper.app.secrets import envelope_keys_of, peppers_of
from tollkeeper.core.diagnosis import Diagnosis, broken, to_do, well
from tollkeeper.ports.people import MailNotSent
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.secret_desk import pepper_uses, retired_peppers
from tollkeeper.storage.jobs.book import jobs_on_record
from tollkeeper.storage.ledger.journal_folder import JournalFolder, UnsafeFolder
from tollkeeper.storage.postgres.condition import all_well, diagnose_postgres
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.condition import AccountCondition, account_conditions
from tollkeeper.storage.redis.condition import diagnose_redis

JOURNAL_BYTES_LEAST = 64 * 2**20
JOURNAL_BYTES_GOOD = 2**30


async def diagnose(settings: Settings) -> list[Diagnosis]:
    """Everything there is to say of this deployment, seen from this machine."""
    found = await diagnose_postgres(settings.database_url.reveal(), settings.store_patience_seconds)
    if all_well(found):
        found += await _own_tables(settings)
    found += await diagnose_redis(settings.redis_url.reveal())
    return [*found, *_journal(settings.journal), await _mail(settings), *_addresses(settings)]


async def _own_tables(settings: Settings) -> list[Diagnosis]:
    gateway, console = [database_of(settings, role, 2) for role in (DatabaseRole.GATEWAY, DatabaseRole.CONSOLE)]
    await gateway.open()
    await console.open()
    try:
        return [
            await _peppers(settings, console),
            *await _providers(settings, gateway),
            *await _work(console),
        ]
    finally:
        await gateway.close()
        await console.close()


async def _peppers(settings: Settings, database: Database) -> Diagnosis:
    uses, peppers = await pepper_uses(database), peppers_of(settings)
    # What has no version may need any of them.
    lacking = set(uses) - {0} - set(peppers.by_version) - await retired_peppers(database)
    if lacking:
        told = "; ".join(
            f"{uses[version].keys} keys and {uses[version].recovery_codes} recovery codes stand under version {version}"
            for version in sorted(lacking)
        )
        return broken("peppers", f"{told}, which is not listed: they are refused", "Put it back: TOLLKEEPER_PEPPERS")
    if not await mark_is_right(settings, database):
        told = "the oldest that is listed is not the one that nodes had, so the service mark is another"
        return broken("peppers", told, "Put the one back that was taken out: TOLLKEEPER_PEPPERS")
    # A newer one than that in use was listed for a rotation to come.
    spare = [version for version in sorted(peppers.by_version) if version < peppers.in_use and version not in uses]
    if spare and 0 not in uses:
        # Taken out of the setting alone, it would take the service mark along.
        remedy = f"tollkeeper pepper retire {spare[0]}, which says what takes its place in TOLLKEEPER_PEPPERS"
        return to_do("peppers", f"nothing stands under version {spare[0]} any more", remedy)
    keys = sum(use.keys for version, use in uses.items() if version in {0, *peppers.by_version})
    return well("peppers", f"every key in use stands under one that is listed ({keys} keys)")


async def _providers(settings: Settings, database: Database) -> list[Diagnosis]:
    accounts = await account_conditions(database, envelope_keys_of(settings))
    if not any(account.takes_calls for account in accounts):
        remedy = "tollkeeper provider add" if not accounts else "tollkeeper provider list, then provider set"
        return [to_do("providers", "no account takes calls: every call is answered 503", remedy)]
    found = [line for account in accounts for line in await _provider(settings, account)]
    return found or [well("providers", f"the keys of {len(accounts)} accounts open, and their addresses are known")]


async def _provider(settings: Settings, account: AccountCondition) -> list[Diagnosis]:
    about = f"provider {account.name}"
    if not account.opens:
        told = "its key cannot be opened: it was sealed under an envelope key that is not listed"
        remedy = (
            f"Put that key back: TOLLKEEPER_ENVELOPE_KEYS. If it is lost: tollkeeper provider rotate-key {account.name}"
        )
        return [broken(about, told, remedy)]
    host = urlsplit(account.base_url).hostname or ""
    if settings.egress_proxy or await _resolves(host):
        return []
    return [
        broken(about, f"its host {host} has no address here", "Check the account's address, and this machine's DNS.")
    ]


async def _resolves(host: str) -> bool:
    look_up = partial(socket.getaddrinfo, host, 443, type=socket.SOCK_STREAM)
    try:
        return bool(await asyncio.to_thread(look_up))
    except (OSError, UnicodeError):
        return False


async def _work(database: Database) -> list[Diagnosis]:
    jobs = {job.name: job for job in await jobs_on_record(database)}
    running = any(job.holder for job in jobs.values())
    found = [
        well("worker", "the jobs beside the calls are being done")
        if running
        else to_do("worker", "nobody does the jobs beside the calls: lots do not expire, mails wait", "tollkeeper work")
    ]
    checked = jobs.get("check_books")
    if checked is None or checked.ended_at is None:
        found.append(to_do("books", "were never checked here by a worker", "tollkeeper books check"))
    elif checked.went_well:
        found.append(well("books", f"{checked.outcome} ({checked.ended_at:%Y-%m-%d %H:%M} UTC)"))
    else:
        found.append(broken("books", checked.outcome or "the last check failed", "tollkeeper books check"))
    return found


def _journal(folder: Path) -> list[Diagnosis]:
    # A folder that may not be looked into counts as not there, and the one above it is judged.
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 (Path.exists raises)
    try:
        JournalFolder(folder, create=False).close()
    except UnsafeFolder as problem:
        return [broken("journal", f"cannot be kept in {folder}", str(problem))]
    except OSError as problem:
        if not isinstance(problem, FileNotFoundError) or not os.access(there, os.W_OK):
            told = f"cannot be kept in {folder}: {there} is not ours to write to"
            return [broken("journal", told, "Run this as the service's user, or set TOLLKEEPER_JOURNAL_FOLDER.")]
    return [journal_room(folder, shutil.disk_usage(there).free)]


def journal_room(folder: Path, free: int) -> Diagnosis:
    """`free`: bytes that are left on its disk."""
    told = f"{folder} has {free / 2**30:.1f} GiB left"
    if free < JOURNAL_BYTES_LEAST:
        return broken("journal", told, "Make room: without it no call can be settled safely.")
    if free < JOURNAL_BYTES_GOOD:
        return to_do("journal", told, "Make room before it is full.")
    return well("journal", told)


async def _mail(settings: Settings) -> Diagnosis:
    mailer = mailer_of(settings)
    if mailer is None:
        remedy = "Set TOLLKEEPER_SMTP_URL and TOLLKEEPER_MAIL_FROM."
        return to_do("mail", "no mail server is set: nobody can sign up or reset a password", remedy)
    try:
        await mailer.greet()
    except MailNotSent as problem:
        return broken("mail", f"the server did not take us ({problem})", "Check TOLLKEEPER_SMTP_URL.")
    return well("mail", "the server answers and lets us in")


def _addresses(settings: Settings) -> Sequence[Diagnosis]:
    url = urlsplit(settings.console_url)
    if not settings.console_url:
        told = "TOLLKEEPER_CONSOLE_URL is not set: mails with links are not sent, and passkeys cannot be used"
        return [to_do("console", told, "Set it to what people type: https://console.example.com")]
    if url.scheme != "https" and url.hostname not in {"localhost", "127.0.0.1", "::1"}:
        told = f"{settings.console_url} is not https: browsers keep no session there, and passwords pass in the clear"
        return [broken("console", told, "Put TLS before it, and set TOLLKEEPER_CONSOLE_URL to its https address.")]
    return [well("console", f"is at {settings.console_url}")]
