"""One deployment for all that the documentation shows."""

from collections.abc import Iterator

import pytest

from tests.conftest import Stores
from tools.documented.scene import Scene, set_scene


@pytest.fixture(scope="session")
def scene(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with set_scene(stores.database_url, stores.redis_url, tmp_path_factory.mktemp("documented")) as made:
        yield made
