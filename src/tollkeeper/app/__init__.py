"""The composition root: the only room of the service that names concrete adapters.

`demo` names some beside it, to write the past of a customer down; and `cli/command` tells what is wrong with a database
in the words of `storage/postgres/trouble`.

Nothing is imported here: each process loads the parts that it is made of.
"""
