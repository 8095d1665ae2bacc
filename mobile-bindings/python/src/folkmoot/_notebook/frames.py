"""Rows as data frames of pandas, which is optional."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ..errors import BadOptionError
from .columns import Columns

DataFrame: TypeAlias = Any
"""A `pandas.DataFrame`, whose type is not known without pandas."""


def frame(rows: Iterable[Mapping[str, Any]], columns: Columns) -> DataFrame:
    """Returns a data frame with one row for each of `rows`, and exactly these columns, also without rows.

    A missing count or text is `pandas.NA`, and a missing number is NaN. `frame.attrs["units"]` has the units by column.

    Raises BadOptionError if pandas is not installed.
    """
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError as error:
        raise BadOptionError(
            f"to_pandas needs pandas, which cannot be imported ({error}): pip install pandas; "
            "the rows are also plain dictionaries"
        ) from None
    listed = list(rows)
    made = pandas.DataFrame(
        {name: pandas.Series([row.get(name) for row in listed], dtype=column.kind) for name, column in columns.items()}
    )
    made.attrs["units"] = {name: column.unit for name, column in columns.items()}
    return made


def chosen(table: str, tables: Mapping[str, Any]) -> Any:
    """Returns the entry of `tables` for this name.

    Raises BadOptionError for another name.
    """
    if table not in tables:
        raise BadOptionError(f"there is no table {table!r}; the tables are {', '.join(tables)}")
    return tables[table]
