"""Multipart forms that are made to be slow or large: refused, and whoever comes next is served.

How long reading each of them takes is measured in tests/edge/http/test_upload.py, without sockets.
"""

from typing import Any

import pytest

from tests.attacker import Attacker
from tests.attacks.sockets import post, send
from tests.edge.http.test_upload import BOMBS, BOUNDARY
from tollkeeper.core.calls.multipart_form import content_type

PIECE_BYTES = 1024 * 1024
PATHS = ("/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("body", "how"), BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_refused(attacker: Attacker, path: str, body: bytes, how: dict[str, Any]) -> None:
    kind = how.get("kind", content_type(BOUNDARY))
    head = post(
        path,
        f"Authorization: Bearer {attacker.key}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    pieces = (body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES))
    answer, _ = send(attacker.node, (head, *pieces))
    assert answer.status in {400, 413, 431}, answer.text
    attacker.check_nothing_came_of(answer)
