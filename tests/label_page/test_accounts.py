"""Who may use the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thresher.errors import DamagedFile
from thresher.label_page.accounts import N_COOKIES, Accounts


def test_a_token_is_exchanged_for_a_cookie_that_survives_a_restart(tmp_path: Path) -> None:
    token = Accounts(tmp_path).add("ann")
    account, cookie = Accounts(tmp_path).exchange(token) or pytest.fail("refused")
    assert (account.name, account.is_owner) == ("ann", False)
    found = Accounts(tmp_path).of_cookie(cookie)
    assert found is not None
    assert found.name == "ann"


def test_nothing_that_signs_someone_in_is_on_the_disk(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    secrets = [accounts.add("ann"), accounts.new_owner_link("owner")]
    secrets += [(accounts.exchange(token) or pytest.fail("refused"))[1] for token in secrets]
    content = accounts.path.read_text(encoding="utf-8")
    assert not [secret for secret in secrets if secret in content]


@pytest.mark.parametrize("wrong", ["", "x", "None", "\udcff", "0" * 43])
def test_a_wrong_token_or_cookie_is_nobody(tmp_path: Path, wrong: str) -> None:
    accounts = Accounts(tmp_path)
    accounts.add("ann")
    assert accounts.exchange(wrong) is None
    assert accounts.of_cookie(wrong) is None
    assert accounts.of_cookie(None) is None


def test_the_hash_on_the_disk_does_not_sign_in(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    accounts.exchange(accounts.add("ann"))
    (entry,) = json.loads(accounts.path.read_text(encoding="utf-8"))["accounts"]
    assert accounts.exchange(entry["token_hash"]) is None
    assert accounts.of_cookie(entry["cookie_hashes"][0]) is None


def test_revoking_ends_link_and_cookies_at_once_and_for_good(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    token = accounts.add("ann")
    _, cookie = accounts.exchange(token) or pytest.fail("refused")
    accounts.revoke("ann")
    for same in (accounts, Accounts(tmp_path)):
        assert same.exchange(token) is None
        assert same.of_cookie(cookie) is None


def test_a_new_owner_link_ends_the_old_one_and_keeps_the_browser(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    first = accounts.new_owner_link("owner")
    _, cookie = accounts.exchange(first) or pytest.fail("refused")
    second = accounts.new_owner_link("owner")
    assert accounts.exchange(first) is None
    assert accounts.exchange(second) is not None
    assert accounts.of_cookie(cookie) is not None


def test_an_annotator_does_not_become_the_owner_by_name(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    _, cookie = accounts.exchange(accounts.add("ann")) or pytest.fail("refused")
    accounts.new_owner_link("ann")
    assert accounts.of_cookie(cookie) is None


def test_only_the_last_browsers_stay_signed_in(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    token = accounts.add("ann")
    exchanged = [accounts.exchange(token) for _ in range(N_COOKIES + 2)]
    cookies = [cookie for _, cookie in filter(None, exchanged)]
    known = [accounts.of_cookie(cookie) is not None for cookie in cookies]
    assert known == [False] * 2 + [True] * N_COOKIES


@pytest.mark.parametrize("name", ["", "  ", "a" * 61, "a\nb", "a\x1b[2J", "\u202eowner"])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="printable characters"):
        Accounts(tmp_path).add(name)


@pytest.mark.parametrize("name", ["ann", "ANN", " ann "])
def test_a_name_belongs_to_one_person(tmp_path: Path, name: str) -> None:
    accounts = Accounts(tmp_path)
    accounts.add("ann")
    with pytest.raises(ValueError, match="already has a link"):
        accounts.add(name)


def test_the_owner_cannot_be_revoked(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    accounts.new_owner_link("owner")
    with pytest.raises(ValueError, match="no annotator"):
        accounts.revoke("owner")


ENTRY = '{"name": "ann", "role": "annotator", "token_hash": "\u00e9", "cookie_hashes": []}'
HASH = f'{{"format": "thresher access 1", "accounts": [{ENTRY}]}}'  # one that is not ASCII


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "thresher access 1", "accounts": [{"name": "ann"}]}',
        "\x00",
        HASH,
    ],
)
def test_a_damaged_file_is_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    Path(tmp_path, "access.json").write_text(content, encoding="utf-8")
    with pytest.raises(DamagedFile, match="delete it to hand out new links"):
        Accounts(tmp_path)
