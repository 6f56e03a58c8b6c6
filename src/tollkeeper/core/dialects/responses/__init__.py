"""The Responses API, as callers speak it: orders read into chat, and chat written as responses."""
