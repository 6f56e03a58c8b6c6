"""The customers' console: pages made on the server, over the use-cases of `accounts`. It knows no store."""
