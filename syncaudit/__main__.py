"""Run the command line with ``python -m syncaudit``."""

from syncaudit.cli import main

if __name__ == "__main__":
    main()
