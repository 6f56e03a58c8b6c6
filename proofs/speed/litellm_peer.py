"""LiteLLM's proxy before the same upstream: how many calls another gateway makes of a core.

It is given what its own production guide asks for: one worker, its log at errors only, no `.env` read; and what is in
its favour beyond that: no database, no retries, a fast parser, calls that have warmed it up. It asks nobody for a key,
keeps no books and counts no quota: less than we do.

Its environment is made on demand from its lock alone, in `.venv/peers`; `python -m proofs.speed.lock` writes
the lock.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from proofs.rig.measuring.measured_orders import MODEL
from proofs.rig.project import PROJECT
from proofs.rig.sdks.environments import Virtualenv, make
from proofs.speed.contestants import Subject
from proofs.speed.peer_process import running, warm_up
from tools.node import clean_environment
from tools.services.process import free_port

FOLDER = Path(__file__).parent / "litellm"
ROOM = PROJECT / ".venv" / "peers" / "litellm"
# Whole paths, because neither the lock nor the room is among the SDKs'.
ENVIRONMENT = Virtualenv(str(ROOM), script=ROOM / "bin" / "litellm", lock=str(FOLDER / "requirements.txt"))

QUIETLY = {
    "LITELLM_LOG": "ERROR",
    "LITELLM_MODE": "PRODUCTION",
    # The prices that came with it: it would fetch newer ones as it starts.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


@contextmanager
def litellm(upstream: str, provider_key: str) -> Iterator[Subject]:
    """Its proxy in front of `upstream`, from start to stop; it takes any key."""
    make(ENVIRONMENT)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="tollkeeper-litellm-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_bytes(msgspec.json.encode(settings(upstream, provider_key)))
        with running(command(config, port), environment(), port, lives_at="/health/liveliness") as pid:
            subject = Subject("litellm", port, pid)
            warm_up(subject, "sk-any")
            yield subject


def environment() -> dict[str, str]:
    """It may keep what it compiles, whatever we may: it imports as it goes, and would compile the same again."""
    return {name: value for name, value in clean_environment().items() if name != "PYTHONDONTWRITEBYTECODE"} | QUIETLY


def settings(upstream: str, provider_key: str) -> dict[str, object]:
    """Its configuration; JSON is YAML."""
    model = {"model": f"openai/{MODEL}", "api_base": upstream, "api_key": provider_key}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": model}],
        "general_settings": {
            "disable_spend_logs": True,
            "disable_error_logs": True,
            # Without a key of its own it starts only when told so. It listens on loopback, before a simulator.
            "dangerously_permit_weak_or_unset_master_key": True,
        },
        "litellm_settings": {"request_timeout": 600, "set_verbose": False, "num_retries": 0, "callbacks": []},
    }


def command(config: Path, port: int) -> list[str]:
    asked = {"config": str(config), "host": "127.0.0.1", "port": str(port), "num_workers": "1"}
    return [*ENVIRONMENT.command(ROOM), *(word for name, value in asked.items() for word in (f"--{name}", value))]
