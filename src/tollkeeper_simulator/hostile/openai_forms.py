"""Where output hides in OpenAI's format: members that vendors of this family have, and members that nobody has."""

from tollkeeper_simulator.hostile.forms import Form, at_length, in_base64, in_booleans, in_digits

DEPTH = 60

FORMS = {
    # Of this format.
    "custom_input": Form(
        b'"tool_calls":[{"index":0,"id":"call_c","type":"custom","custom":{"name":"note","input":"@"}}]'
    ),
    "custom_name": Form(b'"tool_calls":[{"index":0,"id":"call_c","type":"custom","custom":{"name":"@","input":""}}]'),
    "function_name": Form(
        b'"tool_calls":[{"index":0,"id":"call_f","type":"function","function":{"name":"@","arguments":""}}]'
    ),
    "tool_unknown": Form(b'"tool_calls":[{"index":0,"id":"call_u","type":"shell","shell":{"script":"@"}}]'),
    "call_id": Form(b'"tool_calls":[{"index":0,"id":"@","type":"function","function":{"name":"n","arguments":""}}]'),
    "function_call": Form(b'"function_call":{"name":"note","arguments":"@"}'),
    "content_list": Form(b'"content":[{"type":"text","text":"@"}]'),
    "content_object": Form(b'"content":{"text":"@"}'),
    "content_number": Form(b'"content":@', wording=in_digits),
    "content_booleans": Form(b'"content":[@null]', wording=in_booleans),
    "refusal": Form(b'"refusal":"@"'),
    "audio": Form(b'"audio":{"id":"audio_1","transcript":"@"}'),
    "audio_data": Form(b'"audio":{"id":"audio_1","data":"@"}', wording=in_base64),
    "annotations": Form(
        b'"annotations":[{"type":"url_citation","url_citation":{"url":"","title":"@","start_index":0,"end_index":0}}]'
    ),
    "role": Form(b'"role":"@"'),
    # Of vendors that extend it.
    "reasoning": Form(b'"reasoning":"@"'),
    "reasoning_content": Form(b'"reasoning_content":"@"'),
    "reasoning_beside": Form(b'"reasoning_content":"so","reasoning":"@"'),
    "reasoning_details": Form(b'"reasoning_details":[{"type":"reasoning.text","text":"@","index":0}]'),
    "reasoning_summary": Form(b'"reasoning_details":[{"type":"reasoning.summary","summary":"@","index":0}]'),
    "reasoning_data": Form(
        b'"reasoning_details":[{"type":"reasoning.encrypted","data":"@","index":0}]', wording=in_base64
    ),
    "thinking": Form(b'"thinking":"@"'),
    "thinking_blocks": Form(b'"thinking_blocks":[{"type":"thinking","thinking":"@","signature":""}]'),
    "provider_fields": Form(b'"provider_specific_fields":{"note":"@"}'),
    "extra_content": Form(b'"extra_content":{"google":{"thought":"@"}}'),
    "images": Form(b'"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,@"}}]', wording=in_base64),
    # Of nobody.
    "unknown_member": Form(b'"murmur":"@"'),
    "unknown_list": Form(b'"murmur":["@"]'),
    "unknown_number": Form(b'"murmur":@', wording=in_digits),
    "member_name": Form(b'"@":true'),
    "nested": Form(b'"murmur":%b"@"%b' % (b'{"in":[' * DEPTH, b"]}" * DEPTH)),
    # Beside the message.
    "text": Form(b'"text":"@"', "choice"),
    "choice_member": Form(b'"murmur":"@"', "choice"),
    "logprobs": Form(
        b'"logprobs":{"content":[{"token":"@","logprob":0,"bytes":null,"top_logprobs":[]}],"refusal":null}', "choice"
    ),
    "finish_reason": Form(b'"finish_reason":"@"', "choice"),
    "filters": Form(b'"content_filter_results":{"hate":{"severity":"@"}}', "choice", wording=at_length),
    "top_level": Form(b'"murmur":"@"', "top"),
    "fingerprint": Form(b'"system_fingerprint":"@"', "top"),
    "obfuscation": Form(b'"obfuscation":"@"', "top", wording=at_length),
    "usage_text": Form(b'"usage":{"note":"@"}', "top"),
    "usage_alone": Form(b'"usage":{"note":"@"}', "alone"),
}

# A whole answer can have each member only once.
ONE_OF_EACH = tuple(
    FORMS[name]
    for name in (
        "custom_input",
        "content_list",
        "function_call",
        "refusal",
        "audio",
        "annotations",
        "reasoning_content",
        "reasoning_details",
        "thinking",
        "thinking_blocks",
        "provider_fields",
        "extra_content",
        "images",
        "nested",
        "text",
        "logprobs",
        "top_level",
    )
)
