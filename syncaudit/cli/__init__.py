"""The command line: commands, output and exit codes."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code (the entry point of `syncaudit`)."""
    from syncaudit.cli.app import run

    sys.exit(run(sys.argv[1:]))
