"""Public HTTP: one table of routes."""
