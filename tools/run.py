"""A whole Tollkeeper on this machine: stores, schema, demo provider and customer, gateway. Ends with Ctrl-C and leaves
nothing."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

from tools.node import Node, clean_environment, fresh_secrets, tollkeeper
from tools.services import Postgres, Redis
from tools.services.process import stop_in_order_when_terminated
from tools.simulator import Simulator

PROVIDER_KEY = "sk-demo-provider"
# The usual prices: multipliers for chat, quota for each character, second or image.
MODELS = {
    "gpt-4o": ("--multiplier=1.25", "--completion=4"),
    "gpt-4o-mini": ("--multiplier=0.075", "--completion=4"),
    "tts-1": ("--kind=speech", "--multiplier=7.5"),
    "tts-1-hd": ("--kind=speech", "--multiplier=15"),
    "whisper-1": ("--kind=transcription", "--multiplier=50"),
    "dall-e-2": ("--kind=image", "--price=256x256=8000", "--price=512x512=9000", "--price=1024x1024=10000"),
    "dall-e-3": (
        "--kind=image",
        "--images-most=1",
        "--price=1024x1024=20000",
        "--price=1024x1024 hd=40000",
        *(f"--price={size}=40000" for size in ("1792x1024", "1024x1792")),
        *(f"--price={size} hd=60000" for size in ("1792x1024", "1024x1792")),
    ),
}


def main() -> int:
    stop_in_order_when_terminated()
    with ExitStack() as stack:
        database_url = os.environ.get("DATABASE_URL") or stack.enter_context(Postgres()).url
        redis_url = os.environ.get("REDIS_URL") or stack.enter_context(Redis()).url
        settings = fresh_secrets() | {
            "TOLLKEEPER_DATABASE_URL": database_url,
            "TOLLKEEPER_REDIS_URL": redis_url,
            "TOLLKEEPER_PORT": os.environ.get("TOLLKEEPER_PORT", "8080"),
            "TOLLKEEPER_JOURNAL_FOLDER": stack.enter_context(tempfile.TemporaryDirectory(prefix="tollkeeper-journal-")),
        }
        provider = stack.enter_context(Simulator(key=PROVIDER_KEY, chunk_ms=30))
        key = furnish(settings, provider)
        node = stack.enter_context(Node(settings))
        stack.enter_context(jobs(settings, node))
        print(welcome(node, key, settings), flush=True)
        assert node.process is not None
        with contextlib.suppress(KeyboardInterrupt):
            return node.process.wait()
    print("\nStopped; nothing is left running.")
    return 0


@contextlib.contextmanager
def jobs(settings: dict[str, str], node: Node) -> Iterator[None]:
    """`tollkeeper work` beside the node."""
    with node.log.open("ab") as log:
        working = subprocess.Popen(
            [sys.executable, "-m", "tollkeeper", "work"], env=clean_environment() | settings, stderr=log
        )
    try:
        yield
    finally:
        working.terminate()
        working.wait()


def furnish(settings: dict[str, str], provider: Simulator) -> str:
    """A schema, some models with a provider, and a customer with 10 USD; returns the customer's key."""
    command(settings, "migrate")
    name = f"demo-{provider.port}"
    added = tollkeeper(settings, "provider", "add", name, provider.base, stdin=PROVIDER_KEY + "\n")
    assert added.returncode == 0, added.stderr
    for name, options in MODELS.items():
        added = tollkeeper(settings, "model", "add", name, *options)
        assert added.returncode == 0 or "already" in added.stderr, added.stderr
    account = command(settings, "account", "create", "Demo customer").split()[1]
    command(settings, "credit", account, "10")
    return command(settings, "key", "create", account, "demo").splitlines()[1]


def command(settings: dict[str, str], *arguments: str) -> str:
    done = tollkeeper(settings, *arguments)
    if done.returncode:
        raise SystemExit(f"tollkeeper {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def welcome(node: Node, key: str, settings: dict[str, str]) -> str:
    exports = "\n".join(f"export {name}='{value}'" for name, value in sorted(settings.items()))
    return f"""
Tollkeeper is running. A demo customer has 10 USD and this key:

    {key}

Try it:

    curl -N {node.base}/v1/chat/completions -H 'Authorization: Bearer {key}' \\
      -d '{{"model": "gpt-4o", "stream": true, "messages": [{{"role": "user", "content": "Hello! [[tokens=40]]"}}]}}'
    curl {node.base}/v2/account/balance -H 'Authorization: Bearer {key}'

or, with the official SDK:

    OpenAI(base_url="{node.base}/v1", api_key="{key}").chat.completions.create(model="gpt-4o", messages=…)

The provider behind it is `tollkeeper demo provider`, which does what it is told in double brackets.
The receipt of a call, by the x-request-id of its answer: tollkeeper call show ID

To use the tollkeeper command on it, in another terminal:

{exports}

Call log: {node.log}
Stop with Ctrl-C.
"""


if __name__ == "__main__":
    sys.exit(main())
