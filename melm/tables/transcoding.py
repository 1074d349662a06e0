"""Converts text in any encoding to UTF-8, piece by piece."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from melm.tables.dialect import LONGEST_MARK, encoding_of
from melm.tables.problem import Fix, Problem, Problems, Severity

UNDEFINED_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"


class CsvError(ValueError):
    """The file cannot be read as a table; `problems` lists everything that is wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems[:5])))
        self.problems = list(problems)


class CsvEncodingError(CsvError):
    """The bytes are not text in the expected encoding."""

    def __init__(self, detail: str) -> None:
        fixes = (Fix("encoding", "cp1252", "as many spreadsheets write it"), Fix("encoding", "latin-1"))
        super().__init__([Problem(f"the CSV is not {detail}", fixes)])


class Transcoder:
    """Converts a file to UTF-8. Without a given encoding the file is UTF-8, or else in the encoding of Windows.

    A file that turns out not to be UTF-8 after some pieces can still be read: all output before is ASCII.
    """

    def __init__(self, encoding: str | None, problems: Problems) -> None:
        self.encoding = encoding or "utf-8"
        self._is_given = encoding is not None
        self._problems = problems
        self._decoder: codecs.IncrementalDecoder | None = None  # only where the file is not UTF-8
        self._is_begun = False
        self._is_sure = self._is_given  # that the file is UTF-8: given, or seen in characters beyond ASCII
        self._held = b""  # the first bytes of the file, or an incomplete character at the end of a piece

    def feed(self, chunk: bytes, final: bool = False) -> bytes:
        """Convert the next piece to UTF-8. Errors in a file known to be UTF-8 are left to the parser."""
        if self._is_begun and self._decoder is None and (self._is_sure or self._passes(chunk, final)):
            return chunk
        data, self._held = self._held + chunk, b""
        if not self._is_begun:
            if len(data) < LONGEST_MARK and not final:
                self._held = data
                return b""
            data = self._begin(data)
        if self._decoder is not None:
            return self._decode(data, final)
        return data if self._is_sure else self._check(data, final)

    def _passes(self, chunk: bytes, final: bool) -> bool:
        return not self._held and not final and chunk.isascii()

    def _begin(self, data: bytes) -> bytes:
        """Look for a byte order mark. Returns the data without the mark of UTF-8."""
        self._is_begun = True
        found = encoding_of(data[:LONGEST_MARK])
        if found == "utf-8-sig":
            data, found = data[len(codecs.BOM_UTF8) :], "utf-8"
        if not self._is_given:
            self.encoding = found
        if self.encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
        return data

    def _check(self, data: bytes, final: bool) -> bytes:
        """Check data that should be UTF-8. An incomplete character at its end is held back for the next piece."""
        checker = codecs.getincrementaldecoder("utf-8")()
        try:
            checker.decode(data, final)
        except UnicodeDecodeError:
            if b"\0" in data:
                return data
            return self._give_up_utf8(data, final)
        held = checker.getstate()[0]
        whole = data[: len(data) - len(held)]
        if whole.isascii():
            self._held = held
            return whole
        self._is_sure = True
        return data

    def _give_up_utf8(self, data: bytes, final: bool) -> bytes:
        self.encoding = "cp1252" if data.translate(None, UNDEFINED_IN_CP1252) == data else "latin-1"
        self._decoder = codecs.getincrementaldecoder(self.encoding)()
        found = self._decode(data, final)
        word = next((w for w in re.split(r"[^\w]+", found.decode()) if not w.isascii()), "")[:40]
        shown = f", with words such as {word!r}" if word else ""
        fixes = (
            Fix("encoding", self.encoding, "to confirm it"),
            Fix("encoding", "cp1250", "for languages of central Europe"),
            Fix("encoding", "cp1251", "for Cyrillic"),
        )
        detail = f"the file is not UTF-8: it is read as {self.encoding}{shown}"
        self._problems.add(Problem(detail, fixes, level=Severity.QUESTION))
        return found

    def _decode(self, chunk: bytes, final: bool) -> bytes:
        if self._decoder is None:
            return chunk
        try:
            return self._decoder.decode(chunk, final).encode()
        except UnicodeError as error:  # UTF-16 without a byte order mark raises no UnicodeDecodeError
            raise CsvEncodingError(f"{self.encoding}: {error}") from None
