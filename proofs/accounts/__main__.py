"""prove-accounts: what comes in comes in once, the partner plan pays what it says, and all of it can be taken back.

Two processes race for codes, the faucet, gifts and withdrawals (F12). A ring of accounts lives off the partner plan for
some months, and gets no more than its caps. Then every reward is revoked, spent or not. Last, top-ups of many amounts
are compared with numbers that were reckoned by hand.
"""

import random
from collections.abc import Mapping
from contextlib import ExitStack
from time import monotonic

import msgspec
import uvloop

from proofs.accounts.cases import Cases
from proofs.accounts.revocation import revoke_everything
from proofs.accounts.ring import Ring
from proofs.accounts.spending import spender_at
from proofs.rig import races
from proofs.rig.database import fresh_database, migrated
from proofs.rig.deployment import books_are_clean, deployment
from proofs.rig.proof import Run, prove, say, seed
from proofs.rig.town import town_at
from tools.services import Postgres

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


def main(run: Run) -> int:
    asked = SIZES[run.size]
    chosen_seed = seed()
    with ExitStack() as stack:
        postgres = Postgres()
        settings = deployment(stack, postgres=postgres)
        urls = [migrated(uvloop.run(fresh_database(postgres.url, name))) for name in ("races", "ring", "cases")]
        racing, ringing, reckoning = urls

        began = monotonic()
        exact_races = uvloop.run(races.run(racing, rounds=asked.race_rounds, at_once=asked.at_once))
        races_clean = books_are_clean(at(settings, racing))
        run.figures["races"] = f"{exact_races if races_clean else 0}/{len(races.RACES)}"
        say(f"races took {monotonic() - began:.0f} s")
        began = monotonic()
        ring_ok, restored = uvloop.run(live_as_a_ring(at(settings, ringing), asked, random.Random(chosen_seed)))
        restored = restored and books_are_clean(at(settings, ringing))
        run.figures |= {"ring_payout_ok": int(ring_ok), "revoked_books": "clean" if restored else "broken"}
        say(f"the ring took {monotonic() - began:.0f} s")
        cases = uvloop.run(compare_cases(reckoning))
        cases_clean = books_are_clean(at(settings, reckoning))
        run.figures |= {"cases": cases.count, "exact": cases.exact if cases_clean else 0}
    held = (exact_races == len(races.RACES), ring_ok, restored, cases.count == cases.exact, races_clean, cases_clean)
    return 0 if all(held) else 1


def at(settings: Mapping[str, str], url: str) -> dict[str, str]:
    return dict(settings) | {"TOLLKEEPER_DATABASE_URL": url}


async def live_as_a_ring(settings: Mapping[str, str], asked: Size, chance: random.Random) -> tuple[bool, bool]:
    """Whether the ring kept within the caps, and whether revoking undid it, with books that were clean before."""
    url = settings["TOLLKEEPER_DATABASE_URL"]
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
        clean_before = books_are_clean(settings)
        return within, await revoke_everything(one) and clean_before


async def compare_cases(url: str) -> Cases:
    async with town_at(url, connections=2) as town:
        cases = Cases(town)
        await cases.all()
        return cases


if __name__ == "__main__":
    prove(main, "races", "ring_payout_ok", "revoked_books", "cases", "exact")
