"""Gemini's format in a malicious provider's hands: output in parts and members that are no text."""

from collections.abc import Iterator

from tollkeeper_simulator.dialects.gemini.answer import ContentChunks, PartFrame, whole_content
from tollkeeper_simulator.hostile.directions import Hostile
from tollkeeper_simulator.hostile.forms import Form, form_of, in_base64, in_digits, worded
from tollkeeper_simulator.scene import Scene
from tollkeeper_simulator.speech import Piece

# What stands around a part closes a list, a content and its candidate: what ends there can begin elsewhere.
FORMS = {
    "executable_code": Form(b'{"executableCode":{"language":"PYTHON","code":"@"}}'),
    "code_result": Form(b'{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"@"}}'),
    "inline_data": Form(b'{"inlineData":{"mimeType":"image/png","data":"@"}}', wording=in_base64),
    "file_data": Form(b'{"fileData":{"mimeType":"text/plain","fileUri":"@"}}'),
    "function_response": Form(b'{"functionResponse":{"name":"note","response":{"said":"@"}}}'),
    "thought": Form(b'{"thought":true,"text":"@"}'),
    "thought_signature": Form(b'{"text":"","thoughtSignature":"@"}', wording=in_base64),
    "unknown_part": Form(b'{"hologram":{"murmur":"@"}}'),
    "unknown_member": Form(b'{"text":"","murmur":"@"}'),
    "content_number": Form(b'{"text":@}', wording=in_digits),
    "nested": Form(b'{"text":{"in":[{"in":["@"]}]}}'),
    "candidate_member": Form(b'{"text":""}]},"groundingMetadata":{"webSearchQueries":["@"'),
    "top_level": Form(b'{"text":""}]}}],"murmur":[{"in":{"in":["@"'),
}


def hostile_content(scene: Scene, chosen: Hostile) -> Iterator[Piece]:
    form = form_of(chosen, FORMS)
    if form is None:
        return whole_content(scene, in_pieces=True)
    return whole_content(worded(scene, form), in_pieces=True, frame=PartFrame(form.before, form.after))


def hostile_chunks(scene: Scene, chosen: Hostile) -> ContentChunks:
    form = form_of(chosen, FORMS)
    if form is None:
        return ContentChunks(scene)
    return ContentChunks(worded(scene, form), PartFrame(form.before, form.after))
