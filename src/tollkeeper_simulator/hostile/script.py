"""What a malicious provider does for one call, act by act."""

from collections.abc import Iterator

import msgspec

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Pause, Send
from tollkeeper_simulator.dialect import Dialect
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.heads import with_hostile_head
from tollkeeper_simulator.hostile.instead import Occasion, instead_of_answer
from tollkeeper_simulator.hostile.packing import ENCODINGS, Packer
from tollkeeper_simulator.hostile.streams import hostile_stream
from tollkeeper_simulator.hostile.wording import HostileWording, check
from tollkeeper_simulator.problem import Problem, Refused
from tollkeeper_simulator.request import Request
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.script import script_of
from tollkeeper_simulator.speech import Piece, Speech, escape
from tollkeeper_simulator.tokens import count_text


def secrets_of(request: Request) -> str:
    """What the provider was sent beside the body, the key first."""
    names = sorted(request.headers, key=lambda name: ("auth" not in name and "key" not in name, name))
    return " | ".join(f"{name}: {request.headers[name]}" for name in names)


def hostile_speech(speech: Speech, chosen: Hostile, request: Request) -> Speech:
    """What the caller is told: what it was going to be, or what the gateway sent along."""
    if chosen.leak != "content":
        return speech
    told = secrets_of(request)
    return Speech([Piece(escape(told), count_text(told), is_content=True)], "stop")


def hostile_script(dialect: Dialect, scene: Scene, chosen: Hostile, request: Request) -> Iterator[Act]:
    """Raise Refused for what this vendor's format has no place for."""
    check(dialect.vendor, chosen)
    secrets = secrets_of(request)
    wording = HostileWording(dialect, chosen)
    occasion = Occasion(wording, scene.request_id, scene.directions, chosen, secrets)
    instead = instead_of_answer(occasion)
    if instead is not None:
        return with_hostile_head(instead, chosen, secrets)
    if chosen.leak == "event":
        scene = scene._replace(directions=msgspec.structs.replace(scene.directions, error_at=1, status_text=secrets))
    return with_hostile_head(_answer(wording, scene, chosen), chosen, secrets)


def _answer(wording: HostileWording, scene: Scene, chosen: Hostile) -> Iterator[Act]:
    directions = scene.directions
    if directions.is_no_answer or not (scene.streamed or chosen.encoding):
        yield from script_of(wording, scene)
        return
    if directions.delay_ms:
        yield Pause(directions.delay_ms / 1_000)
    yield from (hostile_stream if scene.streamed else _packed)(wording, scene, chosen)


def _packed(wording: HostileWording, scene: Scene, chosen: Hostile) -> Iterator[Act]:
    packer = Packer(chosen.encoding)
    body = packer.pack(b"".join(piece.escaped for piece in wording.whole(scene, in_pieces=True))) + packer.rest()
    own, fields = wording.own_fields(scene.request_id), ENCODINGS[chosen.encoding].fields
    yield Begin(200, frames.json_head(200, own, len(body), *fields))
    yield Send(body, scene.figures.output_tokens)
    yield End("finished")


def hostile_media_script(
    dialect: Dialect, request_id: bytes, directions: Directions, request: Request
) -> Iterator[Act]:
    """What is done to a call that is no chat: only what comes instead of an answer, or before its head, is known."""
    chosen, secrets = directions.hostile or Hostile(), secrets_of(request)
    occasion = Occasion(HostileWording(dialect, chosen), request_id, directions, chosen, secrets)
    instead = instead_of_answer(occasion)
    if instead is None:
        said = "Stage direction: of the hostile ones a call that is no chat takes those that refuse it"
        raise Refused(Problem(400, said, code="bad_direction"))
    return with_hostile_head(instead, chosen, secrets)
