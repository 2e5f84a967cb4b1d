"""The folder of artifacts: what is put is read back, and nothing else is taken for it."""

from __future__ import annotations

import errno
import hashlib
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from agentctl.store.blobs import INCOMING, LOCK, Blobs, _explain

TEXT = b"some bytes"
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    """A folder that does not exist yet, and that nobody waits for."""
    return Blobs(tmp_path / "blobs", wait_ms=0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=64), max_size=4))
def test_what_is_put_is_read_back_under_its_sha256(given_bytes: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        blobs = Blobs(Path(folder, "blobs"))
        digests = (
            [blobs.put(data) for data in given_bytes for _ in range(2)] if _made(blobs) else []
        )
        wanted = {hashlib.sha256(data).hexdigest(): data for data in given_bytes}
        assert set(digests) == set(wanted)
        assert list(blobs.digests()) == sorted(wanted)
        for digest, data in wanted.items():
            with blobs.open(digest) as file:
                assert file.read() == data
            assert blobs.size(digest) == len(data)
            assert blobs.problem(digest) is None
        assert blobs.leftovers() == []
        blobs.close()


def _made(blobs: Blobs) -> bool:
    blobs.hold()
    return True


def test_only_its_owner_may_enter_the_folder(blobs: Blobs) -> None:
    blobs.hold()
    blobs.put(TEXT)
    place = blobs.path_of(DIGEST)
    for folder in (blobs.root, place.parent, blobs.root / INCOMING):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in (place, blobs.root / LOCK):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    blobs.close()


@pytest.mark.parametrize("bad", [b"", b"some bytez", b"some bytes and more"])
def test_damaged_bytes_are_noticed_and_replaced_when_the_good_ones_come_again(
    blobs: Blobs, bad: bytes
) -> None:
    blobs.hold()
    blobs.put(TEXT)
    blobs.path_of(DIGEST).write_bytes(bad)
    assert blobs.problem(DIGEST) == "damaged"
    blobs.put(TEXT)
    assert blobs.problem(DIGEST) is None
    blobs.close()


def test_a_blob_that_is_not_a_plain_file_is_a_problem(blobs: Blobs, tmp_path: Path) -> None:
    blobs.hold()
    assert blobs.problem(DIGEST) == "missing"
    assert blobs.size(DIGEST) is None
    (tmp_path / "elsewhere").write_bytes(TEXT)
    place = blobs.path_of(DIGEST)
    place.parent.mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    assert str(blobs.problem(DIGEST)).startswith("unreadable")
    blobs.put(TEXT)
    assert blobs.problem(DIGEST) is None
    assert not place.is_symlink()
    blobs.close()


def test_other_files_of_the_folder_are_passed_over(blobs: Blobs) -> None:
    blobs.hold()
    blobs.put(TEXT)
    (blobs.root / "readme").write_text("mine", encoding="utf-8")
    (blobs.path_of(DIGEST).parent / "note").write_text("mine", encoding="utf-8")
    assert list(blobs.digests()) == [DIGEST]
    blobs.close()


def test_whoever_removes_waits_for_everybody_who_keeps(blobs: Blobs) -> None:
    other = Blobs(blobs.root, wait_ms=0)
    blobs.hold()
    blobs.hold()
    blobs.let_go()
    with pytest.raises(StoreBusy, match="in use"), other.exclusive():
        pytest.fail("somebody still keeps something")
    blobs.let_go()
    with other.exclusive(), pytest.raises(StoreBusy):
        blobs.hold()
    # A hold that was refused is none.
    with other.exclusive():
        pass
    blobs.close()


def test_the_first_who_keeps_something_cleans_up_after_the_dead(blobs: Blobs) -> None:
    (blobs.root / INCOMING).mkdir(parents=True)
    (blobs.root / INCOMING / "1-1-1").write_bytes(b"half")
    blobs.hold()
    assert blobs.leftovers() == []
    blobs.close()


def test_nobody_cleans_up_while_another_is_at_work(blobs: Blobs) -> None:
    other = Blobs(blobs.root)
    other.hold()
    (blobs.root / INCOMING).mkdir()
    (blobs.root / INCOMING / "1-1-1").write_bytes(b"half")
    blobs.hold()
    assert len(blobs.leftovers()) == 1
    blobs.close()
    other.close()


def test_a_folder_that_cannot_be_made_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file", encoding="utf-8")
    blobs = Blobs(tmp_path / "blobs")
    with pytest.raises(StoreError, match="not a directory"):
        blobs.hold()


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.EACCES, StoreReadOnly),
        (errno.EROFS, StoreReadOnly),
        (errno.EIO, StoreError),
    ],
)
def test_an_error_of_the_system_says_what_to_do(number: int, kind: type[StoreError]) -> None:
    error = _explain(OSError(number, "Reason", "some/file"), Path("blobs"))
    assert type(error) is kind
    assert "blobs" in error.message or "some/file: reason" in error.message
