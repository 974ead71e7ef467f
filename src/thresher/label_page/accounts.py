"""Who may use the page: the owner and annotators, each with a personal link."""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from thresher.errors import DamagedFile
from thresher.files import write_text

FILE_NAME = "access.json"
FORMAT = "thresher access 1"
N_COOKIES = 10  # browsers of one person; the oldest has to use the link again
LONGEST_NAME = 60


@dataclass(frozen=True)
class Account:
    """A person: name, role, and hashes of what proves who it is.

    Examples
    --------
    >>> Account("ann", "owner").is_owner
    True
    """

    name: str
    role: str
    token_hash: str = ""
    cookie_hashes: tuple[str, ...] = ()

    @property
    def is_owner(self) -> bool:
        """Whether this is the person who started the session."""
        return self.role == "owner"


class Accounts:
    """The accounts of a session, in a file that holds hashes only. Safe for threads.

    Parameters
    ----------
    folder : of the session

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     accounts = Accounts(folder)
    ...     token = accounts.add("ben")
    ...     account, cookie = accounts.exchange(token)
    ...     accounts.revoke("ben")
    ...     account.name, accounts.of_cookie(cookie)
    ('ben', None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder, FILE_NAME)
        self._lock = threading.Lock()
        self._accounts = {account.name: account for account in _read(self.path)}

    def __iter__(self) -> Iterator[Account]:
        return iter(list(self._accounts.values()))

    def new_owner_link(self, name: str) -> str:
        """A new token of the owner; older ones end, browsers that are signed in stay so."""
        name = checked_name(name)
        with self._lock:
            known = self._accounts.get(name)
            cookies = known.cookie_hashes if known is not None and known.is_owner else ()
            others = {key: a for key, a in self._accounts.items() if not a.is_owner and key != name}
            return self._issue(others, Account(name, "owner", cookie_hashes=cookies))

    def add(self, name: str) -> str:
        """The token of a new annotator.

        Raises
        ------
        ValueError : a name that is taken, empty, too long or not printable
        """
        name = checked_name(name)
        with self._lock:
            if name.casefold() in {known.casefold() for known in self._accounts}:
                raise ValueError(f"{name!r} already has a link; revoke it to make a new one")
            return self._issue(self._accounts, Account(name, "annotator"))

    def revoke(self, name: str) -> None:
        """End the link of an annotator, and sign them out everywhere.

        Raises
        ------
        ValueError : not an annotator
        """
        with self._lock:
            account = self._accounts.get(name)
            if account is None or account.is_owner:
                raise ValueError(f"no annotator is called {name!r}")
            self._save({key: a for key, a in self._accounts.items() if key != name})

    def exchange(self, token: str) -> tuple[Account, str] | None:
        """The account of a token and a new cookie for it, or None."""
        hashed = _hash(token)
        with self._lock:
            for account in self._accounts.values():
                if secrets.compare_digest(account.token_hash, hashed):
                    cookie = secrets.token_urlsafe(32)
                    cookies = (*account.cookie_hashes, _hash(cookie))[-N_COOKIES:]
                    account = replace(account, cookie_hashes=cookies)
                    self._save({**self._accounts, account.name: account})
                    return account, cookie
        return None

    def of_cookie(self, cookie: str | None) -> Account | None:
        """The account that a cookie belongs to, or None."""
        hashed = _hash(cookie or "")
        found = (a for a in self if hashed in a.cookie_hashes)
        return next(found, None) if cookie else None

    def _issue(self, others: dict[str, Account], account: Account) -> str:
        token = secrets.token_urlsafe(32)
        self._save({**others, account.name: replace(account, token_hash=_hash(token))})
        return token

    def _save(self, accounts: dict[str, Account]) -> None:
        content = {"format": FORMAT, "accounts": [asdict(a) for a in accounts.values()]}
        write_text(self.path, json.dumps(content, indent=1))
        self._accounts = accounts


def checked_name(name: str) -> str:
    """The name of a person without blanks around it.

    Raises
    ------
    ValueError : empty, too long or not printable

    Examples
    --------
    >>> checked_name(" ann ")
    'ann'
    """
    name = name.strip()
    if not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise ValueError(f"a name must have 1 to {LONGEST_NAME} printable characters")
    return name


def _hash(secret: str) -> str:
    """Tokens have 256 random bits, so that a plain hash of one cannot be inverted by trying."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> list[Account]:
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        return [_account(**entry) for entry in content["accounts"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}; delete it to hand out new links"
        raise DamagedFile(str(path), reason) from error


def _account(name: str, role: str, token_hash: str, cookie_hashes: list[str]) -> Account:
    if role not in ("owner", "annotator"):
        raise ValueError(f"role {role!r}")
    if not all(isinstance(text, str) for text in (name, token_hash, *cookie_hashes)):
        raise TypeError("names and hashes must be texts")
    if not all(text.isascii() for text in (token_hash, *cookie_hashes)):
        raise ValueError("hashes must be ASCII")
    return Account(checked_name(name), role, token_hash, tuple(cookie_hashes))
