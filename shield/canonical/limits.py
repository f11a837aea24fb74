"""How large a value may be, and the errors of one that is larger."""

from shield.errors import InputError, Reason

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "MAX_SAFE_INTEGER", "too_deep", "too_many"]

MAX_BYTES = 8 * 1024 * 1024  # DESIGN 3: body
MAX_DEPTH = 32  # DESIGN 3: containers inside one another
MAX_NODES = 10_000  # DESIGN 3: values in one action, containers and leaves alike
MAX_SAFE_INTEGER = 2**53 - 1  # RFC 8785 section 3.2.2.3, ECMA-262 Number.MAX_SAFE_INTEGER


def too_deep(max_depth: int, pointer: str | None = None) -> InputError:
    detail = f"containers are nested deeper than {max_depth}; flatten the value"
    return InputError(detail, reason=Reason.INPUT_DEPTH, pointer=pointer)


def too_many(max_nodes: int) -> InputError:
    return InputError(f"more than {max_nodes} values; split the action", reason=Reason.INPUT_NODES)
