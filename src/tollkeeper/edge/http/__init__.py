"""HTTP below the calls: one exchange, its body, uploads, what goes out, the process's life."""
