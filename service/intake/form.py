"""A form as browsers and `curl -F` send it: a file, and options in fields with the names of the query parameters."""

from __future__ import annotations

import hashlib
import inspect
import logging
from pathlib import PurePath
from typing import Annotated, Any, get_type_hints

import numpy as np
from fastapi import Query
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import QueryParams

from melm.tables.files import FORMATS, HEAD_BYTES, format_of
from melm.tables.options import ReadOptions
from melm.tables.stack import Stack
from service.errors import FieldError, Invalid, Malformed
from service.intake.formats import CODECS, Codec
from service.intake.formats.table import SPILL_BYTES
from service.intake.memory import hold
from service.intake.table_query import get_options
from service.intake.upload import room
from service.intake.wording import as_field_errors

MEDIA_TYPE = "multipart/form-data"
MAX_FIELDS = 200
MAX_FIELD_BYTES = 1 << 20  # of all fields but the file


class FormOptions(BaseModel):
    """The fields of a form, in addition to the options for reading its file."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str | None, Query(max_length=200)] = None
    dry_run: bool = False

    def read_options(self) -> ReadOptions:
        """How the file is to be read."""
        return get_options(**self.model_dump(exclude=set(FormOptions.model_fields)))


HINTS = get_type_hints(get_options, include_extras=True)
PARAMETERS: dict[str, Any] = {
    name: (HINTS[name], parameter.default) for name, parameter in inspect.signature(get_options).parameters.items()
}
Options = create_model("Options", __base__=FormOptions, **PARAMETERS)
logging.getLogger("python_multipart").setLevel(logging.ERROR)  # errors are reported to the client
LISTS = {"missing_values"}  # parameters that may be repeated


class UploadForm:
    """Receives a form while it arrives. A large file is kept on disk until the form is complete."""

    def __init__(self, content_type: str) -> None:
        boundary = parse_options_header(content_type)[1].get(b"boundary")
        if not boundary:
            raise Malformed(f"{MEDIA_TYPE} needs a boundary")
        self.content = Stack(1, np.uint8, SPILL_BYTES)
        self.n_bytes = 0  # of the file
        self.file_hash = hashlib.sha256()
        self._head = b""
        self._fields: list[tuple[str, bytearray]] = []
        self._n_field_bytes = 0
        self._headers: dict[bytes, bytes] = {}
        self._header = [bytearray(), bytearray()]
        self._file: dict[bytes, bytes] | None = None  # headers of the file's part
        self._is_in_file = False
        self._is_whole = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._headers.clear,
                "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
                "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_part,
                "on_part_data": self._take_data,
                "on_end": self._end,
            },
        )

    def take(self, piece: bytes) -> None:
        """The next piece of the body."""
        try:
            with room():
                self._parser.write(piece)
        except FormParserError as error:
            raise Malformed(f"the body is not a form: {error}") from None

    def finish(self) -> None:
        """Refuse a form without a file or without its end."""
        if not self._is_whole:
            raise Malformed("the body is not a form: it has no end")
        if self._file is None:
            raise Invalid([FieldError("/file", "the form has no file", "send one as a part with a file name")])

    @property
    def codec(self) -> Codec:
        """The codec of the file: by its first bytes, by the type that its part declares, or by its name."""
        headers = self._file or {}
        declared = headers.get(b"content-type", b"").partition(b";")[0].strip().decode("latin-1").lower()
        found = format_of(self._head)
        if found.media_type != "text/csv":
            return CODECS[found.media_type]
        if declared in CODECS:
            return CODECS[declared]
        filename = parse_options_header(headers.get(b"content-disposition"))[1].get(b"filename", b"")
        ending = PurePath(filename.decode("utf-8", "replace")).suffix.lower()
        return CODECS[next((each.media_type for each in FORMATS.values() if ending in each.endings), "text/csv")]

    @property
    def fields(self) -> list[tuple[str, bytes]]:
        """Names and values, in their order."""
        return [(name, bytes(value)) for name, value in self._fields]

    def options(self, query: QueryParams) -> Any:
        """The options from the fields, which take precedence over the query."""
        given = as_lists((name, value) for name, value in query.multi_items() if name in Options.model_fields)
        try:
            given |= as_lists((name, value.decode()) for name, value in self.fields)
        except UnicodeDecodeError:
            raise Malformed("a field of the form is not UTF-8") from None
        try:
            return Options.model_validate(given)
        except ValidationError as error:
            raise Invalid(as_field_errors(error.errors(), given, Options)) from None

    def _end_header(self) -> None:
        name, value = self._header
        self._headers[bytes(name).lower()] = bytes(value)
        self._header = [bytearray(), bytearray()]

    def _begin_part(self) -> None:
        described = parse_options_header(self._headers.get(b"content-disposition"))[1]
        self._is_in_file = b"filename" in described
        if not self._is_in_file:
            if len(self._fields) == MAX_FIELDS:
                raise Malformed(f"the form has more than {MAX_FIELDS} fields")
            self._fields.append((described.get(b"name", b"").decode("utf-8", "replace"), bytearray()))
        elif self._file is None:
            self._file = dict(self._headers)
        else:
            raise Invalid([FieldError("/file", "the form has several files", "send one file")])

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_in_file:
            self._head += data[start : min(end, start + HEAD_BYTES - len(self._head))]
            hold(min(end - start, max(SPILL_BYTES - self.n_bytes, 0)))
            self.content.append(np.frombuffer(data, np.uint8, end - start, start)[:, None])
            self.file_hash.update(data[start:end])
            self.n_bytes += end - start
            return
        self._n_field_bytes += end - start
        if self._n_field_bytes > MAX_FIELD_BYTES:
            raise Malformed(f"the fields of the form have more than {MAX_FIELD_BYTES} bytes")
        self._fields[-1][1].extend(data[start:end])

    def _end(self) -> None:
        self._is_whole = True


def as_lists(items: Any) -> dict[str, Any]:
    """Values by name: a list for parameters that may be repeated, the last value for others."""
    values: dict[str, Any] = {}
    for name, value in items:
        if name in LISTS:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    return values
