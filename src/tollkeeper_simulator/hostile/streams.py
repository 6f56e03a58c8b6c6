"""What a malicious provider does to a stream: one function for each act, on events that have no HTTP frame yet."""

import re
from collections.abc import Callable, Iterator

from tollkeeper_simulator import frames
from tollkeeper_simulator.acts import Act, Begin, End, Pause, Send
from tollkeeper_simulator.events import Burst, Frame, events_of, framed
from tollkeeper_simulator.hostile.changes import BOM
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.packing import ENCODINGS, Packer
from tollkeeper_simulator.hostile.wording import HostileWording
from tollkeeper_simulator.scene import Scene

BLOCK_BYTES = 65_536
ENDLESS_BYTES = 64 * 1_048_576
# Of the reasons that each vendor gives; words of the answer can stand in the same place.
FINISH = re.compile(
    rb'"(?:finish_reason|stop_reason|finishReason)":"'
    rb'(?:stop|length|tool_calls|content_filter|end_turn|max_tokens|tool_use|refusal|STOP|MAX_TOKENS|SAFETY)"'
)

# What is said again and again, and what stands before the first time.
ENDLESS = {
    "line": (b"data: ", b"x"),
    "comments": (b"", b": still here\n"),
    "empty": (b"", b'data: {"choices":[]}\n\n'),
    "pings": (b"", b'event: ping\ndata: {"type":"ping"}\n\n'),
    "blanks": (b"", b"\n"),
    "events": (b"", b'event: murmur\ndata: {"type":"murmur"}\n\n'),
    "fields": (b"", b"id: 7\nretry: 1\n"),
}

Acts = Iterator[Act | Burst]


def hostile_stream(wording: HostileWording, scene: Scene, chosen: Hostile) -> Iterator[Act]:
    """The acts of a streamed answer, from its head to its end."""
    fields = ENCODINGS[chosen.encoding].fields
    if chosen.framing == "two_lengths":
        fields = (*fields, b"content-length: 7")
    yield Begin(200, frames.stream_head(wording.own_fields(scene.request_id), *fields))
    if scene.directions.first_chunk_ms:
        yield Pause(scene.directions.first_chunk_ms / 1_000)
    acts = _told(wording, scene, chosen)
    for name, change in STREAM_ACTS.items():
        if getattr(chosen, name):
            acts = change(acts, scene, chosen)
    yield from _framed(acts, scene, chosen)


def _told(wording: HostileWording, scene: Scene, chosen: Hostile) -> Acts:
    for _ in range(2 if chosen.told_twice else 1):
        yield from events_of(wording, scene)
    frame = Frame(wording, scene)
    for event in wording.telling(scene).after_done():
        yield frame.send(event)


def _framed(acts: Acts, scene: Scene, chosen: Hostile) -> Iterator[Act]:
    ending, packer, wrong = End("finished"), Packer(chosen.encoding), FRAMINGS.get(chosen.framing)
    for act in acts:
        if isinstance(act, End):
            ending = act
            break
        if isinstance(act, Send):
            sent = act._replace(data=packer.pack(act.data))
            is_content = wrong is not None and act.tokens > 0
            yield from (_misframed(sent, chosen),) if is_content else framed(sent, drip=scene.directions.drip)
        elif not isinstance(act, Burst):
            yield act
    if rest := packer.rest():
        yield Send(frames.chunk(rest))
    yield Send(
        b"0\r\nauthorization: murmur\r\ncontent-length: 5\r\n\r\n"
        if chosen.framing == "trailers"
        else frames.LAST_CHUNK
    )
    yield ending


def _misframed(sent: Send, chosen: Hostile) -> Send:
    return sent._replace(data=FRAMINGS[chosen.framing](sent.data))


FRAMINGS: dict[str, Callable[[bytes], bytes]] = {
    "bad_size": lambda data: b"zz\r\n%b\r\n" % data,
    "negative_size": lambda data: b"-%x\r\n%b\r\n" % (len(data), data),
    "huge_size": lambda data: b"ffffffffffffffffffff\r\n%b\r\n" % data,
    "no_line_end": lambda data: b"%x\r\n%b" % (len(data), data),
    "extension": lambda data: b"%x;%b\r\n%b\r\n" % (len(data), b"x" * BLOCK_BYTES, data),
}


def _with_bom(acts: Acts, _scene: Scene, _chosen: Hostile) -> Acts:
    is_first = True
    for act in acts:
        if isinstance(act, Send) and is_first:
            is_first = False
            yield act._replace(data=BOM + act.data)
        else:
            yield act


def _without_space(acts: Acts, _scene: Scene, _chosen: Hostile) -> Acts:
    for act in acts:
        yield act._replace(data=act.data.replace(b"data: ", b"data:", 1)) if isinstance(act, Send) else act


def _without_end(acts: Acts, scene: Scene, chosen: Hostile) -> Acts:
    """Before the finish reason."""
    is_out = False
    for act in acts:
        if _is_finish(act) and not is_out:
            is_out = True
            yield from endless(chosen.endless, scene.directions.bytes or ENDLESS_BYTES)
        yield act


def _silent_after_finish(acts: Acts, _scene: Scene, chosen: Hostile) -> Acts:
    for act in acts:
        yield act
        if _is_finish(act):
            yield Pause(chosen.stall_after_finish / 1_000)


STREAM_ACTS: dict[str, Callable[[Acts, Scene, Hostile], Acts]] = {
    "endless": _without_end,
    "stall_after_finish": _silent_after_finish,
    "no_space": _without_space,
    "bom": _with_bom,
}


def endless(kind: str, size: int) -> Iterator[Act]:
    """The same again and again, in blocks, so that its size costs nothing here."""
    start, again = ENDLESS[kind]
    block = again * (BLOCK_BYTES // len(again))
    yield Send(start)
    for _ in range(0, size, len(block)):
        yield Send(block)


def _is_finish(act: Act | Burst) -> bool:
    return isinstance(act, Send) and FINISH.search(act.data) is not None
