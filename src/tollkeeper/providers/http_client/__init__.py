"""HTTP/1.1 to providers: addresses, connections, and the calls on them."""
