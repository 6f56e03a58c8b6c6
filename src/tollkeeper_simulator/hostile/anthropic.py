"""Anthropic's format in a malicious provider's hands: output in blocks, deltas and events that it does not have."""

from collections.abc import Iterator
from typing import NamedTuple

from tollkeeper_simulator.dialect import Event, Passage
from tollkeeper_simulator.dialects.anthropic.message import DELTA, MessageEvents, whole_message
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.forms import Form, form_of, in_base64, worded
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece


class Block(NamedTuple):
    """A block: as it begins in a stream, the delta that goes on, and the whole of it."""

    start: bytes
    delta: Form
    whole: Form


def _delta(template: bytes) -> Form:
    return Form(b'{"type":"content_block_delta","index":0,"delta":%b}' % template)


BLOCKS = {
    "server_tool_use": Block(
        b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}',
        _delta(b'{"type":"input_json_delta","partial_json":"@"}'),
        Form(b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"@"}}'),
    ),
    "mcp_tool_use": Block(
        b'{"type":"mcp_tool_use","id":"mcptoolu_1","name":"note","server_name":"s","input":{}}',
        _delta(b'{"type":"input_json_delta","partial_json":"@"}'),
        Form(b'{"type":"mcp_tool_use","id":"mcptoolu_1","name":"note","server_name":"s","input":{"note":"@"}}'),
    ),
    "tool_result": Block(
        b'{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}}',
        _delta(b'{"type":"tool_result_delta","content":{"stdout":"@"}}'),
        Form(b'{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"stdout":"@"}}'),
    ),
    "thinking": Block(
        b'{"type":"thinking","thinking":""}',
        _delta(b'{"type":"thinking_delta","thinking":"@"}'),
        Form(b'{"type":"thinking","thinking":"@"}'),
    ),
    "redacted_thinking": Block(
        b'{"type":"redacted_thinking","data":""}',
        _delta(b'{"type":"redacted_thinking_delta","data":"@"}')._replace(wording=in_base64),
        Form(b'{"type":"redacted_thinking","data":"@"}', wording=in_base64),
    ),
    "unknown_block": Block(
        b'{"type":"hologram","murmur":""}',
        _delta(b'{"type":"hologram_delta","murmur":"@"}'),
        Form(b'{"type":"hologram","murmur":"@"}'),
    ),
    "citations": Block(
        b'{"type":"text","text":""}',
        _delta(b'{"type":"citations_delta","citation":{"type":"page_location","cited_text":"@"}}'),
        Form(b'{"type":"text","text":"","citations":[{"type":"page_location","cited_text":"@"}]}'),
    ),
    "unknown_member": Block(
        b'{"type":"text","text":""}',
        _delta(b'{"type":"text_delta","text":"","murmur":"@"}'),
        Form(b'{"type":"text","text":"","murmur":"@"}'),
    ),
    "signature": Block(
        b'{"type":"thinking","thinking":"","signature":""}',
        _delta(b'{"type":"signature_delta","signature":"@"}')._replace(wording=in_base64),
        Form(b'{"type":"thinking","thinking":"","signature":"@"}', wording=in_base64),
    ),
    "unknown_event": Block(
        b'{"type":"text","text":""}', Form(b'{"type":"murmur","text":"@"}'), Form(b'{"type":"murmur","text":"@"}')
    ),
    "block_start": Block(
        b'{"type":"text","text":""}',
        Form(b'{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"@"}}'),
        Form(b'{"type":"text","text":"@"}'),
    ),
    "text_object": Block(
        b'{"type":"text","text":""}',
        _delta(b'{"type":"text_delta","text":{"deep":["@"]}}'),
        Form(b'{"type":"text","text":{"deep":["@"]}}'),
    ),
}
FORMS = {name: block.whole for name, block in BLOCKS.items()}


def hostile_message(scene: Scene, chosen: Hostile) -> Iterator[Piece]:
    form = form_of(chosen, FORMS)
    if form is None:
        return whole_message(scene, in_pieces=True)
    return whole_message(worded(scene, form), in_pieces=True, around=(form.before, form.after))


class HostileEvents(MessageEvents):
    """A stream whose words are in another block than text."""

    def __init__(self, scene: Scene, chosen: Hostile) -> None:
        super().__init__(scene)
        self._block = None if form_of(chosen, FORMS) is None else BLOCKS[chosen.hide]

    def content(self) -> Iterator[Event | Passage]:
        if self._block is None:
            yield from super().content()
            return
        speech, form = self._scene.speech, self._block.delta
        yield self._start(0, self._block.start, speech.thinking_tokens + speech.name_tokens)
        yield Passage(form.worded(speech.pieces), [(form.before, form.after)], DELTA)
        yield self._stop(0)
