"""`melm fit` on rows that may be larger than memory: a folder of files, or one large file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from melm.command.failure import CommandError, ExitCode
from melm.extras import check_extra

LARGE_BYTES = 2**30  # smaller tables are read into memory, with all options for columns
NOT_STREAMED = ("sheet", "encoding", "missing_values", "drop_missing", "day_first")


def is_streamed(options: argparse.Namespace) -> bool:
    """Whether the table is a folder, or a large file in a format that can be streamed."""
    path = Path(options.table)
    return path.is_dir() or (
        path.suffix in (".csv", ".parquet") and path.is_file() and path.stat().st_size > LARGE_BYTES
    )


def open_streamed(options: argparse.Namespace, seed: int) -> Any:
    """The rows, copied as plain numbers to a temporary folder, with a progress bar."""
    check_extra("tables", f"melm fit {options.table}")
    from melm.data import row_files
    from melm.data.labeled_blocks import LabeledBlocks
    from melm.data.row_blocks import WatchedBlocks

    if options.url is not None:
        raise CommandError(f"{options.table}: rows beyond memory are fitted on this machine, without --url")
    given = [name for name in NOT_STREAMED if getattr(options, name)]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise CommandError(f"{options.table}: rows beyond memory are read without {flags}", ExitCode.USAGE)
    roles = dict(options.columns)
    other = sorted(set(roles.values()) - {"numeric", "ignore", "target"})
    if other:
        raise CommandError(f"--columns: columns of rows beyond memory are numeric, ignore or target, not {other[0]}")
    targets = [options.target] * (options.target is not None) + [n for n, role in roles.items() if role == "target"]
    if len(targets) != 1:
        raise CommandError(f"{options.table}: which column holds the labels? Name it by --target")
    left_out = [name for name, role in roles.items() if role == "ignore"]
    passes = Passes()
    try:
        dataset = row_files.open_dataset(options.table, targets[0], options.delimiter or ",", options.decimal or ".")
        rows = row_files.read(dataset, targets[0], left_out, passes)
        return LabeledBlocks.of(WatchedBlocks(rows.blocks, passes), rows.classes, rows.feature_names, seed)
    except ValueError as error:
        raise CommandError(f"{options.table}: {error}") from None


class Passes:
    """A progress bar for the passes over the rows, if tqdm is installed and the output is a terminal."""

    def __init__(self) -> None:
        self._n_passes = self._n_rows = 0
        self._bar: Any = None
        try:
            from tqdm import tqdm
        except ModuleNotFoundError:
            return
        self._bar = tqdm(desc="reading", unit=" rows", unit_scale=True, leave=False, disable=None, file=sys.stderr)

    def __call__(self, n_rows: int | None) -> None:
        """Count more rows, or the end of a pass; the first pass finds the number of rows."""
        self._n_rows += n_rows or 0
        if self._bar is None:
            return
        if n_rows is not None:
            self._bar.update(n_rows)
            return
        self._n_passes += 1
        self._bar.reset(total=self._n_rows)
        self._bar.set_description(f"pass {self._n_passes}")
        self._n_rows = 0
