"""Model files and places for them that are no good."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest
from cases import X, Y, _fitted, check_error, fitted
from raysum import ProjectedAdditiveGPRegressor, _raysum

# --- files


@pytest.mark.parametrize(
    ("place", "kind", "text"),
    [
        pytest.param(lambda p: p, IsADirectoryError, "{path}: Is a directory", id="folder"),
        pytest.param(
            lambda p: p / "no" / "model",
            FileNotFoundError,
            "{path}: the folder {folder} does not exist",
            id="missing-folder",
        ),
        pytest.param(
            lambda p: p / ("a" * 300), OSError, "{path}: File name too long", id="long-name"
        ),
        pytest.param(lambda p: None, TypeError, "expected str, bytes or os.PathLike", id="none"),
        pytest.param(lambda p: 3, TypeError, "expected str, bytes or os.PathLike", id="number"),
    ],
)
def test_save(tmp_path: Any, place: Any, kind: type[Exception], text: str) -> None:
    path = place(tmp_path)
    text = text.format(path=path, folder=tmp_path / "no")
    check_error(lambda: fitted().save(path), kind, text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_save_on_a_full_disk() -> None:
    check_error(lambda: fitted().save("/dev/full"), OSError, "/dev/full: No space left on device")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_save_without_permission(tmp_path: Any) -> None:
    tmp_path.chmod(0o500)
    path = tmp_path / "model.raysum"
    check_error(lambda: fitted().save(path), PermissionError, f"{path}: ")
    assert list(tmp_path.iterdir()) == []


def load(path: Any) -> ProjectedAdditiveGPRegressor:
    return ProjectedAdditiveGPRegressor.load(path)


def test_load_a_missing_file(tmp_path: Any) -> None:
    path = tmp_path / "no"
    check_error(lambda: load(path), FileNotFoundError, f"{path}: No such file or directory")


def test_load_a_folder(tmp_path: Any) -> None:
    check_error(lambda: load(tmp_path), IsADirectoryError, f"{tmp_path}: Is a directory")


@pytest.mark.parametrize("path", [None, 3], ids=["none", "number"])
def test_load_what_is_no_path(path: Any) -> None:
    check_error(lambda: load(path), TypeError, "expected str, bytes or os.PathLike")


def test_a_name_that_is_empty() -> None:
    for call in (
        lambda: load(""),
        lambda: fitted().save(""),
        lambda: fitted().fit(X, Y, checkpoint=""),
    ):
        check_error(call, FileNotFoundError, "the name of the file is empty")


_NO_MODEL = "not a raysum model file"
_DAMAGED = "the model file is damaged ("


def model_bytes() -> bytes:
    return _fitted("plain")._model.to_bytes()


def flipped(at: float) -> bytes:
    """A model file with one bit that is wrong."""
    content = bytearray(model_bytes())
    content[int(at * len(content))] ^= 1
    return bytes(content)


CONTENTS = [
    pytest.param(lambda: b"", _NO_MODEL, id="empty"),
    pytest.param(lambda: b"junk", _NO_MODEL, id="short"),
    pytest.param(lambda: b"some,text\n1,2\n" * 100, _NO_MODEL, id="text"),
    pytest.param(lambda: b'{"a": 1}', _NO_MODEL, id="json"),
    pytest.param(lambda: bytes(1000), _NO_MODEL, id="zeros"),
    pytest.param(lambda: b"\xff" * 1000, _NO_MODEL, id="ones"),
    pytest.param(lambda: pickle.dumps(fitted()), _NO_MODEL, id="pickle"),
    pytest.param(lambda: model_bytes()[:4], _NO_MODEL, id="cut-at-once"),
    pytest.param(lambda: model_bytes()[:100], _DAMAGED, id="cut-in-header"),
    pytest.param(lambda: model_bytes()[:-1], _DAMAGED, id="cut-at-end"),
    pytest.param(
        lambda: model_bytes()[: len(model_bytes()) // 2], _DAMAGED, id="cut-in-the-middle"
    ),
    pytest.param(lambda: model_bytes() + b"x", _DAMAGED, id="one-byte-more"),
    pytest.param(lambda: flipped(0.5), _DAMAGED, id="bit-in-the-middle"),
    pytest.param(lambda: flipped(0.9), _DAMAGED, id="bit-near-the-end"),
]


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_load_bad_content(tmp_path: Any, content: Any, text: str) -> None:
    path = tmp_path / "model.raysum"
    path.write_bytes(content())
    check_error(lambda: load(path), ValueError, f"{path}: {text}")


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_bad_bytes(content: Any, text: str) -> None:
    read = _raysum.Model.from_bytes
    check_error(lambda: read(content()), ValueError, f"bytes of a model: {text}")


def test_no_damaged_bit_and_no_cut_goes_unnoticed() -> None:
    content = model_bytes()
    for at in range(0, len(content), len(content) // 100):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        for bad in (bytes(damaged), content[:at]):
            check_error(
                lambda bad=bad: _raysum.Model.from_bytes(bad), ValueError, "bytes of a model: "
            )


def test_damaged_pickle() -> None:
    content = bytearray(pickle.dumps(fitted()))
    start = content.find(model_bytes()[:16])
    assert start > 0
    content[start + len(model_bytes()) // 2] ^= 1
    text = "bytes of a model: the model file is damaged (its checksum is wrong)"
    check_error(lambda: pickle.loads(bytes(content)), ValueError, text)
