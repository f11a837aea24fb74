"""`agentctl` and `python -P -m agentctl`: Ctrl-C ends it well from its first line on."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    try:
        from agentctl.cli import main as agentctl  # here, since it takes a moment in which Ctrl-C may be pressed

        agentctl(prog_name="agentctl")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
