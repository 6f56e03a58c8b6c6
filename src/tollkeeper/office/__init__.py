"""The office: everything that staff can do, each act once.

    pages of staff    operator API    command line
          └───────────────┼───────────────┘
                    table of acts
                          │
              use-cases (accounts), ports

Rules of this room
1. An act is a row of the table (`table.py`): what it is asked, what it gives, which scope it needs, whether it moves
   money. Routes, the OpenAPI document, the matrix of rights and its tests are made from the rows.
2. Whoever calls an act has made sure of its scope. What depends on whom it is done to, the act judges itself.
3. An act that moves money has a name of its own (`once`), under which the books count it once.
"""
