"""prove-accounts: what comes in comes in once, the partner plan pays what it says, and all of it can be taken back.

Two processes race for codes, the faucet, gifts and withdrawals (F12). A ring of accounts lives off the partner plan for
some months, and gets no more than its caps. Then every reward is revoked, spent or not. Last, top-ups of many amounts
are compared with numbers that were reckoned by hand.
"""

import random
import sys
import tempfile
from contextlib import ExitStack
from time import monotonic

import msgspec
import uvloop

from tools.node import fresh_secrets, tollkeeper
from tools.proofs import conclude, say, seed, size
from tools.proofs.accounts_rig import races
from tools.proofs.accounts_rig.cases import Cases
from tools.proofs.accounts_rig.revocation import revoke_everything
from tools.proofs.accounts_rig.ring import Ring
from tools.proofs.accounts_rig.spending import spender_at
from tools.proofs.accounts_rig.town import town_at
from tools.proofs.ledger_rig.ground import fresh_database, migrated
from tools.services import Postgres, Redis

CONNECTIONS = 8


class Size(msgspec.Struct, frozen=True):
    race_rounds: int
    at_once: int
    ring_accounts: int
    ring_months: int


SIZES = {
    # Twenty rounds of each race, as many at once as in the full one.
    "small": Size(race_rounds=20, at_once=200, ring_accounts=100, ring_months=4),
    # A thousand rounds in all.
    "full": Size(race_rounds=250, at_once=200, ring_accounts=1_000, ring_months=6),
}


def main() -> int:
    asked = SIZES[size()]
    chosen_seed = seed()
    with ExitStack() as stack:
        postgres, redis = stack.enter_context(Postgres()), stack.enter_context(Redis())
        urls = [migrated(uvloop.run(fresh_database(postgres.url, name))) for name in ("races", "ring", "cases")]
        racing, ringing, reckoning = urls

        began = monotonic()
        exact_races = uvloop.run(races.run(racing, rounds=asked.race_rounds, at_once=asked.at_once))
        say(f"races took {monotonic() - began:.0f} s")
        began = monotonic()
        ring_ok, restored, before = uvloop.run(live_as_a_ring(ringing, redis.url, asked, random.Random(chosen_seed)))
        say(f"the ring took {monotonic() - began:.0f} s")
        cases = uvloop.run(compare_cases(reckoning))
        clean = {url: books_are_clean(url, redis.url) for url in urls}
    revoked_books = restored and before and clean[ringing]
    conclude(
        {
            "races": f"{exact_races if clean[racing] else 0}/{len(races.RACES)}",
            "ring_payout_ok": int(ring_ok),
            "revoked_books": "clean" if revoked_books else "broken",
            "cases": cases.count,
            "exact": cases.exact if clean[reckoning] else 0,
        }
    )
    held = (exact_races == len(races.RACES), ring_ok, revoked_books, cases.count == cases.exact, *clean.values())
    return 0 if all(held) else 1


async def live_as_a_ring(url: str, redis_url: str, asked: Size, chance: random.Random) -> tuple[bool, bool, bool]:
    """Whether the ring kept within the caps, whether revoking undid it, and whether the books were clean before."""
    async with (
        town_at(url, connections=CONNECTIONS) as one,
        town_at(url, connections=CONNECTIONS) as two,
        spender_at(url) as spender,
    ):
        ring = Ring((one, two), spender, chance)
        await ring.form(asked.ring_accounts)
        await ring.live(asked.ring_months)
        await ring.close_at_once()
        within = await ring.is_within_caps()
        before = books_are_clean(url, redis_url)
        return within, await revoke_everything(one), before


async def compare_cases(url: str) -> Cases:
    async with town_at(url, connections=2) as town:
        cases = Cases(town)
        await cases.all()
        return cases


def books_are_clean(url: str, redis_url: str) -> bool:
    """As an operator has them checked."""
    settings = fresh_secrets() | {
        "TOLLKEEPER_DATABASE_URL": url,
        "TOLLKEEPER_REDIS_URL": redis_url,
        "TOLLKEEPER_JOURNAL_FOLDER": tempfile.gettempdir(),
    }
    check = tollkeeper(settings, "books", "check")
    if check.returncode:
        say(f"{check.stdout}{check.stderr}")
    return check.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
