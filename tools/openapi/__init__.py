"""The HTTP API as an OpenAPI 3.1 document, docs/reference/openapi.json: made from the route table, the parameter tables
and the refusals, by `make docs`.

    operations (one row a path)  parameters (what may be sent)  answers (what comes back)  refusals (by status)
                                   └──────────────► document ◄──────────────┘
"""
