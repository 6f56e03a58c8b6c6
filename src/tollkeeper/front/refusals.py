"""Answers of the front's own."""

from tollkeeper.server.refusals import refusal

NO_GATEWAY = refusal(
    "503 Service Unavailable",
    "server_error",
    "unavailable",
    "The service is unavailable for a moment. Nothing was charged. Try again shortly.",
)
LEAVING = refusal(
    "503 Service Unavailable",
    "server_error",
    "stopping",
    "This front is stopping. It takes calls for some seconds more.",
)
