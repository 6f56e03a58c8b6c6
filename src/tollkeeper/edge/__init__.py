"""Public HTTP: plain ASGI, one table of routes."""
