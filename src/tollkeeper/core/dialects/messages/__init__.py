"""Anthropic's Messages, as callers speak it."""
