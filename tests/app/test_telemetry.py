"""A node without a collector loads nothing that it would need for one."""

import subprocess
import sys

import pytest

from tests.test_settings import NEEDED
from tools.node import clean_environment

pytestmark = pytest.mark.not_quick

BUILT = """
import os, sys
from tollkeeper.app.gateway import gateway
from tollkeeper.settings import load
gateway(load(os.environ))
print(bool({"tollkeeper.telemetry", "opentelemetry.exporter.otlp.proto.http"} & sys.modules.keys()))
"""


@pytest.mark.parametrize(("endpoint", "told"), [("", "False"), ("http://127.0.0.1:1", "True")])
def test_what_speaks_to_a_collector_is_loaded_where_one_is_set(endpoint: str, told: str) -> None:
    environment = clean_environment() | NEEDED | {"TOLLKEEPER_OTEL_ENDPOINT": endpoint}
    done = subprocess.run(
        [sys.executable, "-c", BUILT], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == told
