"""What the command line loads, counted in processes of its own."""

import pytest

from tools.shape import cpu_seconds_of, loaded_by

pytestmark = pytest.mark.not_quick

MODULES_MOST = 200
HEAVY = {"asyncpg", "msgspec", "redis", "sqlalchemy", "tollkeeper.app", "tollkeeper_simulator"}


def test_saying_the_version_loads_little() -> None:
    assert len(loaded_by("version")) <= MODULES_MOST


def test_what_a_command_takes_of_the_cpu_is_counted() -> None:
    """How much it may be is judged by hand, on a quiet machine (`make prove-house`)."""
    assert 0 < cpu_seconds_of("version") < cpu_seconds_of("settings", "--help")


@pytest.mark.parametrize("asked", ["version", "--version", "--help", "-h"])
def test_what_only_some_commands_need_is_not_loaded_for(asked: str) -> None:
    loaded = loaded_by(asked)
    assert "tollkeeper.cli" in loaded
    assert not HEAVY & loaded


def test_a_family_loads_no_other() -> None:
    loaded = loaded_by("demo", "--help")
    assert "tollkeeper_simulator" in loaded
    assert not {"tollkeeper.app", "tollkeeper.cli.providers"} & loaded


@pytest.mark.parametrize(
    ("command", "own", "others"),
    [
        ("serve", "tollkeeper.relay.pipeline", {"tollkeeper.console", "tollkeeper.office", "webauthn", "argon2"}),
        ("front", "tollkeeper.front", {"tollkeeper.relay", "tollkeeper.console", "redis"}),
        ("migrate", "sqlalchemy", {"tollkeeper.relay.pipeline", "tollkeeper.console", "redis"}),
    ],
)
def test_a_process_loads_its_own_parts_alone(command: str, own: str, others: set[str]) -> None:
    loaded = loaded_by(command, "--help")
    assert own in loaded
    assert not others & loaded
