"""`shield` and `python -P -m shield`: the command line, or with `--embedded` the service as a child process."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    if sys.argv[1:2] == ["--embedded"]:
        from shield.service.embedded import embedded

        sys.exit(embedded(sys.argv[2:]))
    from audit.cli.streams import take_over

    take_over()
    from shield.cli import shield

    shield(prog_name="shield")


if __name__ == "__main__":
    main()
