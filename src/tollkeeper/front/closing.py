"""Closing a port without turning away those who knock at that moment."""

import asyncio
import contextlib
import os
import socket


def closed(server: asyncio.Server) -> list[socket.socket]:
    """Close its ports. Return the connections that the kernel has taken there and the server has not: they would be
    reset with the port."""
    # As long as somebody has a port, those that wait there stay.
    ports = [socket.socket(fileno=os.dup(each.fileno())) for each in server.sockets]
    server.close()
    waiting: list[socket.socket] = []
    for port in ports:
        with port, contextlib.suppress(OSError):
            port.setblocking(False)
            while True:
                waiting.append(port.accept()[0])
    return waiting
