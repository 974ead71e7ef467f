"""`python -m thresher`: the command line."""

import sys

from thresher.cli import main

if __name__ == "__main__":
    sys.exit(main())
