"""A generated table with every mess that files have, and the same table cleaned by hand."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pandas as pd

HEADER = ["patient", "height", "color", "zip", "weight, kg", "dose", "clinic", "finding"]
FEATURES = ["height", "color", "zip", "weight, kg", "dose"]
TARGET = "finding"
N_ROWS = 90
COLORS = ["blue", 'pale "green"', "red"]


def messy_rows() -> list[list[str]]:
    """Ids, decimal commas, gaps written in many ways, rare categories, leading zeros, quotes, constant columns."""
    generator = np.random.default_rng(0)
    rows = []
    for index in range(N_ROWS):
        ill = index % 2
        height = f"{generator.normal(170 + 8 * ill, 6):.2f}".replace(".", ",")
        color = COLORS[int(np.clip(generator.normal(0.6 + ill), 0, 2))]
        rows.append(
            [
                str(90_000 + 7 * index),
                ["NA", "", "?", "NaN"][index % 4] if index % 11 == 0 else height,
                "null"
                if index % 13 == 0
                else "türkis"
                if index in (5, 25, 45)
                else "ocker"
                if index in (15, 35)
                else color,
                f"0{1000 + index % 4}",
                f"{generator.normal(70, 9):.1f}".replace(".", ","),
                f"{12 + index % 3},5",
                "north",
                "ill" if ill else "well",
            ]
        )
    return rows


def messy_csv(rows: list[list[str]] | None = None, header: list[str] = HEADER) -> bytes:
    """Semicolons, a byte order mark, CRLF, and quotes where cells need them."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(messy_rows() if rows is None else rows)
    return text.getvalue().encode("utf-8-sig")


def messy_frame() -> Any:
    """The table as pandas reads it, when it is told everything."""
    return pd.read_csv(
        io.BytesIO(messy_csv()),
        sep=";",
        decimal=",",
        encoding="utf-8-sig",
        na_values=["?"],
        dtype={"zip": str},
    )


def cleaned_by_hand() -> tuple[Any, Any]:
    """X and y as somebody makes them who knows the table."""
    found = messy_frame()
    clean = pd.DataFrame({"height": found["height"].fillna(found["height"].median())})
    clean["height (missing)"] = found["height"].isna().astype(float)
    for value in COLORS:
        clean[f"color={value}"] = (found["color"] == value).astype(float)
    clean["color (other)"] = found["color"].isin(["türkis", "ocker"]).astype(float)
    clean["color (missing)"] = found["color"].isna().astype(float)
    for value in sorted(found["zip"].unique()):
        clean[f"zip={value}"] = (found["zip"] == value).astype(float)
    for name in ("weight, kg", "dose"):
        clean[name] = found[name]
    X = np.ascontiguousarray(clean.to_numpy())  # as files are read: sums round by the order of rows in memory
    return X, found[TARGET].to_numpy(dtype=np.str_)
