"""A provider that nobody pays: it speaks vendors' wire formats, misbehaves on request, and keeps its own truth.

It is a program of its own. It shares nothing with the gateway but the machine, so that its truth is a second opinion.
"""
