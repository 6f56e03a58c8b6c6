"""The rules of the service as plain values and functions: no IO, no clock, no framework."""
