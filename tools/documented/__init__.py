"""The commands that the documentation shows, run as they stand there against a whole deployment.

    pages ──► blocks (what is shown, what is marked) ──► shell (one session a page) ──► passed, failed, not run
                                     scene (stores, provider, gateway, a customer) ──┘

`python -m tools.documented [PAGE…]` runs them on stores of its own and prints `docs_commands=n/n`.
"""
