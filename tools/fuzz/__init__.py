"""Fuzzers: inputs that nobody thought of, for everything here that reads what strangers send.

Rules of this room
1. A target (`targets/`) is one file: our pure functions, what must hold of them for any bytes, and a few examples.
2. A crash is whatever a target raises. Slow is an input that costs our functions more than 100 ms of CPU, measured
   again and again, without instrumentation, in a process of its own.
3. Nothing that was found is kept in the repository but as a test of what was mended.
"""
