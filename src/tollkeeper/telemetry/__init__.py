"""Traces and metrics by OpenTelemetry's GenAI conventions, sent to a collector by OTLP. Needs the extra `otel`."""
