"""The vendors: one wire format each, behind one port.

A vendor that speaks our protocol is passed bytes. For any other there are two files of pure functions, one for each
pair of forms: `chat_to_anthropic` and `anthropic_to_chat`, `chat_to_gemini` and `gemini_to_chat`.
"""
