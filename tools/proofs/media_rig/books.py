"""What the books say of calls, by their request ids."""

import asyncio

from tools.proofs.ledger_rig.ground import connect
from tools.proofs.sdks.judge import Receipt
from tools.proofs.sdks.theatre import RECEIPTS


def receipts(database_url: str) -> dict[str, Receipt]:
    async def read() -> dict[str, Receipt]:
        connection = await connect(database_url)
        try:
            return {row["request_id"]: Receipt(*row) for row in await connection.fetch(RECEIPTS)}
        finally:
            await connection.close()

    return asyncio.run(read())
