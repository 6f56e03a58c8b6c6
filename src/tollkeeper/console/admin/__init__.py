"""The operator API, `/admin/v1`: the office's acts over HTTP, for programs and command lines of staff.

    request ─► who asks (asking) ─► may they? ─► what is wished (wishes) ─► the act, once (once) ─► JSON
                    └───────────────────┴─ refusals: one form of error ─┴─────────────┘

Rules of this room
1. A route is a row of the office's table, and there is no other.
2. A request shows an operator key. Cookies count for nothing here, so no page can make a browser act.
3. A request that moves money has an `Idempotency-Key`. Sent again, it gives the first answer and moves nothing.
"""
