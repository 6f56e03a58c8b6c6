"""Ask the faucet once for an account, as a process of its own, which may live by another clock; prints the verdict.

python -m proofs.faults.fleet.pour DATABASE_URL ACCOUNT_ID
"""

import asyncio
import sys

from proofs.rig.races import Round, pour
from proofs.rig.town import Account, town_at


async def main(url: str, account_id: int) -> str:
    async with town_at(url, connections=2) as town:
        account = Account(account_id, "")
        return await pour(town, Round(callers=[account], account=account, giver=account), 0)


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], int(sys.argv[2]))))
