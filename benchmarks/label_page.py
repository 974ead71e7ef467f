"""The labeling page: how soon an answer is saved and the next row is there, while the model refits.

    python -m benchmarks.label_page [--rows 20000] [--labels 100]

The server is the command that a user starts; the client sends the forms of the page over one
connection. Answers come every 0.3 s, so that refits run beside them. Times are as the client sees
them, and are compared with a bare append and fsync on the same disk, in the same run.
"""

from __future__ import annotations

import argparse
import http.client
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from benchmarks.label_sessions import PAUSE, SAVE_SECONDS, SYNC_SECONDS, sync_seconds, write_pool

NEXT_SECONDS = 0.1


class Page:
    """A browser of sorts: one connection, one cookie."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        self._connection.request("GET", f"{parts.path}?{parts.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = str(answer.headers["set-cookie"]).partition(";")[0]

    def get(self, path: str) -> str:
        """A page."""
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        return self._connection.getresponse().read().decode()

    def post(self, path: str, form: dict[str, str]) -> None:
        """Send a form, which must be accepted."""
        kind = "application/x-www-form-urlencoded"
        headers = {"Cookie": self._cookie, "Origin": self._origin, "Content-Type": kind}
        self._connection.request("POST", path, urlencode(form), headers)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == http.client.SEE_OTHER, answer.status


def label(page: Page, n_labels: int) -> tuple[list[float], list[float]]:
    """Seconds until each answer is saved, and until the row after it is there."""
    saved: list[float] = []
    shown: list[float] = []
    html = page.get("/")
    while len(shown) < n_labels:
        form = dict(re.findall(r'name="(row|request)" value="([^"]*)"', html))
        if "row" not in form:
            time.sleep(0.05)
            html = page.get("/")
            continue
        is_positive = re.search(r"<dt>x0</dt><dd>[^-]", html) is not None
        time.sleep(PAUSE)
        start = time.perf_counter()
        page.post("/vote", {**form, "label": str(int(is_positive))})
        saved.append(time.perf_counter() - start)
        html = page.get("/")
        shown.append(time.perf_counter() - start)
    return saved, shown


def measure(folder: Path, n_rows: int, n_labels: int) -> tuple[list[float], list[float]]:
    """Start the command, and label."""
    write_pool(folder / "pool.parquet", n_rows)
    what = ["label", str(folder / "pool.parquet"), "--session", str(folder / "s")]
    how = ["--classes", "no,yes", "--web", "--port", "0"]
    command = [sys.executable, "-m", "thresher", *what, *how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = next(found[0] for line in process.stdout if (found := re.search(r"http\S+", line)))
        try:
            return label(Page(link), n_labels)
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 if every bar is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--labels", type=int, default=100)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        sync = sync_seconds(Path(folder))
        saved, shown = measure(Path(folder), options.rows, options.labels)
    most_saved = SAVE_SECONDS * max(1.0, sync / SYNC_SECONDS)
    bars = (
        (f"saved, median (bare sync {sync:.4f} s)", statistics.median(saved), most_saved),
        ("next row, median", statistics.median(shown), NEXT_SECONDS),
    )
    for name, value, most in bars:
        print(f"{name:45} {value:8.4f} s  (at most {most:g} s)")
    print(f"{'next row, 95th percentile':45} {statistics.quantiles(shown, n=20)[-1]:8.4f} s")
    return 0 if all(value <= most for _, value, most in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
