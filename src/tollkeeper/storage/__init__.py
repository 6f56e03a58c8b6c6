"""The only SQL and the only Redis of the service.

`demo` has some of its own beside it: a clock that can be moved, and a look into a database that somebody gave it.
"""
