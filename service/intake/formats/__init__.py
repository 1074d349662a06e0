"""Request and response bodies: one codec per media type, chosen by Content-Type and Accept.

A codec turns a body into `Matrices` and `NamedArrays` into bytes. Its input is untrusted: it applies `Limits`, never
unpickles, and reports all errors in a body at once.
"""

from __future__ import annotations

from service.errors import NotAcceptable, UnsupportedMediaType
from service.intake.formats import arrow, csv, excel, json, npy
from service.intake.formats.table import Codec, Content, Limits, Matrices, NamedArrays

READ_AND_WRITTEN = (json.JSON, csv.CSV, npy.NPY, npy.NPZ, arrow.STREAM, arrow.PARQUET)
CODECS: dict[str, Codec] = {codec.media_type: codec for codec in (*READ_AND_WRITTEN, excel.EXCEL)}

JSON_ONLY = frozenset({json.JSON.media_type})

__all__ = [
    "CODECS",
    "JSON_ONLY",
    "Codec",
    "Content",
    "Limits",
    "Matrices",
    "NamedArrays",
    "codec_for_answer",
    "codec_for_body",
]


def codec_for_body(content_type: str | None, supported: frozenset[str] = frozenset(CODECS)) -> Codec:
    """The codec that reads a body of this Content-Type, which is required: a page of another site can omit it."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type not in supported:
        raise UnsupportedMediaType(media_type, sorted(supported))
    return CODECS[media_type]


def codec_for_answer(accept: str | None, default: Codec = json.JSON) -> Codec:
    """The codec that the Accept header prefers; `default` if the client has no preference."""
    if default is excel.EXCEL:
        default = csv.CSV
    if accept is None or accept == "*/*":
        return default
    offered = [codec.media_type for codec in READ_AND_WRITTEN]
    media_type = preferred(accept, [default.media_type, *offered])
    if media_type is None:
        raise NotAcceptable(accept, sorted(offered))
    return CODECS[media_type]


def preferred(accept: str, offered: list[str]) -> str | None:
    """The offered media type with the highest quality in an Accept header (the first of equals), or None."""
    qualities: dict[str, float] = {}
    for item in accept.split(","):
        media_range, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
        try:
            qualities[media_range] = float(quality)
        except ValueError:
            qualities[media_range] = 0.0

    def quality_of(media_type: str) -> float:
        ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
        return next((qualities[media_range] for media_range in ranges if media_range in qualities), 0.0)

    best = max(offered, key=quality_of)
    return best if quality_of(best) > 0 else None
