"""A page in headless Chromium: what a reader's browser makes of it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=5000",
)

# Appended to a copy of the page: what only a browser knows, as text that can be read back.
_PROBE = """
<pre id="probe"></pre><script>
addEventListener("error", event => (window.failures ||= []).push(String(event.message)), true);
addEventListener("load", () => {
  const images = [...document.images];
  document.getElementById("probe").textContent = JSON.stringify({
    width: innerWidth,
    scrollWidth: document.documentElement.scrollWidth,
    images: images.length,
    drawn: images.filter(image => image.naturalWidth > 0 && image.width > 50).length,
    described: images.filter(image => image.alt.length > 10).length,
    requests: performance.getEntriesByType("resource").map(entry => entry.name)
      .filter(name => !name.startsWith("data:")),
    headings: [...document.querySelectorAll("h1, h2, h3")].map(part => part.textContent),
    text: document.body.innerText.length,
    failures: window.failures || [],
  });
});
</script>
"""


def look_at(page: str, *, width: int = 1200, height: int = 900) -> dict[str, Any]:
    """Open a page in a window of that size; what it loaded, drew and said there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page + _PROBE, encoding="utf-8")
        dom = _chromium(folder, path, f"--window-size={width},{height}", "--dump-dom")
    (told,) = re.findall(r'<pre id="probe">(.*?)</pre>', dom, flags=re.DOTALL)
    seen: dict[str, Any] = json.loads(html.unescape(told))
    return seen


def print_to_pdf(page: str) -> bytes:
    """The page as it would be printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        _chromium(folder, path, f"--print-to-pdf={folder}/page.pdf")
        return Path(folder, "page.pdf").read_bytes()


def _chromium(folder: str, path: Path, *options: str) -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder}/profile", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
