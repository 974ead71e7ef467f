"""`thresher label --web`: the same session as a page for one or more people."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.cli.values import whole_number
from thresher.cli.verb import Misuse
from thresher.errors import ThresherError
from thresher.rendering.text import say
from thresher.wording import count, visible

if TYPE_CHECKING:
    from thresher.label_sessions import LabelSession

OPTIONS = ("host", "port", "tls_cert", "tls_key", "images_root")


def add_web_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that belong to --web."""
    add = parser.add_argument
    add("--web", action="store_true", help="label on a web page instead of the terminal")
    listen = "name or address to listen on (default: 127.0.0.1, this machine alone)"
    add("--host", metavar="HOST", help=listen)
    add("--port", type=whole_number(0), metavar="P", help="port (default: 8700; 0: any free one)")
    add("--tls-cert", type=Path, metavar="FILE.pem", help="certificate for https")
    add("--tls-key", type=Path, metavar="FILE.pem", help="its private key, if in a file of its own")
    root = "folder of the pictures whose paths are in the table"
    add("--images-root", type=Path, metavar="DIR", help=root)


def check_web_options(options: argparse.Namespace) -> None:
    """Raise `Misuse` for options that contradict each other."""
    given = [name for name in OPTIONS if getattr(options, name) is not None]
    if given and not options.web:
        raise Misuse(f"--{given[0].replace('_', '-')} needs --web")
    if options.tls_key is not None and options.tls_cert is None:
        raise Misuse("--tls-key needs --tls-cert")
    if (options.port or 0) > 65535:
        raise Misuse(f"--port must be at most 65535, got {options.port}")
    for path in (options.tls_cert, options.tls_key):
        if path is not None and not path.is_file():
            raise Misuse(f"{path}: no such file")
    if options.images_root is not None and not options.images_root.is_dir():
        raise Misuse(f"{options.images_root}: no such folder")


def serve_page(options: argparse.Namespace, session: "LabelSession", owner: str) -> None:
    """Serve the session until Ctrl-C."""
    try:
        from thresher.label_page import Place, serve  # here, so that --help stays quick
    except ImportError as error:
        advice = 'install it with: pip install "thresher[label]"'
        raise ThresherError(f"the page needs the package {error.name}; {advice}") from error
    usual = Place()
    place = Place(
        host=options.host or usual.host,
        port=usual.port if options.port is None else options.port,
        tls_certificate=options.tls_cert,
        tls_key=options.tls_key,
        images_root=options.images_root,
    )
    serve(session, place, owner=owner)
    n_labels = count(session.progress().n_labels, "label")
    say(f"\nStopped. {n_labels} saved in {visible(session.folder)}; the same command continues.")
