"""An upstream stand-in that keeps its own truth.

A worker sends `CALL id account input`; the stand-in decides how many tokens it answers with, writes that down, and
replies `id output`. When the worker has passed the answer on to its customer it sends `DONE id`.
Truth file: `id account input output` for each answer, `id done` for each that reached a customer.
"""

import asyncio
import random
import sys
from pathlib import Path


async def serve(port: int, truth: Path, seed: int) -> None:
    chance = random.Random(seed)
    with truth.open("w", buffering=1 << 16) as file:

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while line := await reader.readline():
                    word, request_id, *rest = line.decode().split()
                    if word == "DONE":
                        file.write(f"{request_id} done\n")
                        continue
                    output = chance.randrange(1, 400)
                    file.write(f"{request_id} {rest[0]} {rest[1]} {output}\n")
                    writer.write(f"{request_id} {output}\n".encode())
            except (ConnectionError, ValueError):
                pass  # The worker was killed; what it did not say, it did not do.
            finally:
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", port)
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        loop.add_signal_handler(15, stop.set)
        async with server:
            await stop.wait()
        file.flush()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
