"""Addresses that only this machine reaches."""

import re

__all__ = ["split_tcp"]


def split_tcp(value: str) -> tuple[str, int]:
    """Host and port of `[service] tcp`; only loopback addresses are taken. Raises ValueError."""
    host, _, port = value.rpartition(":")
    if host not in ("127.0.0.1", "[::1]") or not re.fullmatch(r"\d{1,5}", port) or int(port) > 65_535:
        raise ValueError("only a loopback address with a port is taken, for example `127.0.0.1:8470`")
    return host.strip("[]"), int(port)
