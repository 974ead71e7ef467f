"""The program `thresher`, also as `python -m thresher`."""

import sys

INTERRUPTED = 130  # as shells number signals


def main() -> int:
    """The exit code of the command line, also if it is interrupted while it is being imported."""
    try:
        from thresher import cli
    except KeyboardInterrupt:
        sys.stderr.write("thresher: interrupted\n")
        return INTERRUPTED
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
