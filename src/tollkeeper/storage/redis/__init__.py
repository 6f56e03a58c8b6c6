"""Redis itself: where its servers are, and pipelined connections to them."""
