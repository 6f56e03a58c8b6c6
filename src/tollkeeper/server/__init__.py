"""The HTTP server of gateway and console: strict HTTP/1.1 on one side, an application on the other, and the workers."""
