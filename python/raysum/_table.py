"""Columns of text and dates of models that the command line has fitted: it keeps how they become
numbers."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np


class Table:
    """How the columns of a table become numbers, as it stands in a model file."""

    def __init__(self, description: dict[str, Any]) -> None:
        #: Name of each column, and its categories; or "number", or "date".
        self.columns: list[tuple[str, list[str] | str]] = []
        for feature in description["features"]:
            kind = feature["kind"]
            text = kind["text"]["categories"] if isinstance(kind, dict) else kind
            self.columns.append((feature["name"], text))

    @property
    def dates(self) -> list[str]:
        """The columns that hold dates."""
        return [name for name, kind in self.columns if kind == "date"]

    @classmethod
    def of(cls, attachments: dict[str, Any]) -> Table | None:
        """The table of a model, if any of its columns holds texts or dates."""
        description = attachments.get("table")
        table = cls(description) if description else None
        if table is None or all(kind == "number" for _, kind in table.columns):
            return None
        return table

    def describes(self, X: Any) -> bool:
        """Whether X is a frame with the columns of the table, not yet encoded."""
        names = getattr(X, "columns", None)
        return names is not None and {name for name, _ in self.columns} <= set(names)

    def encode(self, X: Any) -> np.ndarray:
        """One column per number or date, one of zeros and ones per category."""
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        names = list(X.columns)
        encoded: list[np.ndarray] = []
        for name, kind in self.columns:
            if names.count(name) > 1:
                raise ValueError(f"X has {names.count(name)} columns named {name!r}.")
            if kind == "number":
                encoded.append(np.asarray(X[name], dtype=np.float64))
                continue
            if kind == "date":
                encoded.append(_days(X[name], name))
                continue
            texts = np.asarray(X[name], dtype=object)
            missing = np.array([_is_missing(text) for text in texts], dtype=bool)
            if missing.any():
                row = int(np.argmax(missing))
                raise ValueError(f"Input X contains NaN at row {row}, column {name!r}.")
            texts = np.array([_spelled(text, kind) for text in texts], dtype=object)
            known = np.isin(texts, list(kind))
            if not known.all():
                row = int(np.argmin(known))
                warnings.warn(
                    f"column {name!r} has {texts[row]!r} at row {row}, which the model has not "
                    f"seen ({int((~known).sum())} such values); it is none of the known ones",
                    UserWarning,
                    stacklevel=4,
                )
            encoded.extend((texts == category).astype(np.float64) for category in kind)
        return np.column_stack(encoded)


def _days(column: Any, name: str) -> np.ndarray:
    """Dates as days since the start of 1970, in UTC."""
    try:
        dates = np.asarray(column, dtype="datetime64[us]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"Input X holds no dates in column {name!r}: {error}.") from error
    if np.isnat(dates).any():
        row = int(np.argmax(np.isnat(dates)))
        raise ValueError(f"Input X contains NaN at row {row}, column {name!r}.")
    days: np.ndarray = dates.astype(np.int64) / 86_400e6
    return days


def _spelled(value: Any, categories: Collection[str]) -> str:
    """A value as the model's table had it: truth values are in small letters in some files."""
    text = str(value).strip()
    truth = isinstance(value, (bool, np.bool_)) and text not in categories
    return text.lower() if truth else text


def _is_missing(text: Any) -> bool:
    """None, NaN, or the NA of pandas, which is not equal to anything either."""
    try:
        return text is None or bool(text != text)
    except TypeError:
        return True
