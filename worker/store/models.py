"""Models and their aliases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from worker.store.connection import StoreConnection, expiry, timestamp
from worker.store.errors import Conflict, IdempotencyMismatch, NotFound, PreconditionFailed
from worker.store.identifier import new_id
from worker.store.keys import key
from worker.store.quotas import Quotas
from worker.store.records import AliasRecord, Idempotency, ModelRecord, Page
from worker.store.scripts import script

DECOY_SECONDS = 86_400.0  # the model of a fit to permuted labels is needed only briefly


class Models:
    """The models and aliases of all tenants."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection
        self._quotas = Quotas(connection)

    def new_record(
        self,
        now: datetime,
        *,
        data: bytes,
        method: str,
        name: str | None = None,
        metadata: Mapping[str, str] | None = None,
        fit_id: str | None = None,
        dataset_id: str | None = None,
        is_decoy: bool = False,
    ) -> ModelRecord:
        """The record of a new model. A decoy, fitted to permuted labels, is not listed and is deleted after a day."""
        lifetime = self._connection.settings.model_lifetime_seconds
        if is_decoy:
            lifetime = min(lifetime or DECOY_SECONDS, DECOY_SECONDS)
        return ModelRecord(
            id=new_id("mdl"),
            created_at=now,
            expires_at=expiry(now, lifetime),
            name=name,
            metadata=dict(metadata or {}),
            method=method,
            fit_id=fit_id,
            dataset_id=dataset_id,
            n_bytes=len(data),
            digest=hashlib.sha256(data).hexdigest(),
        )

    def with_evidence(self, record: ModelRecord, data: bytes) -> ModelRecord:
        """The record of a model after its evidence was added to its file."""
        return record.model_copy(update={"n_bytes": len(data), "digest": hashlib.sha256(data).hexdigest()})

    def import_file(
        self,
        tenant: str,
        *,
        data: bytes,
        card: dict[str, Any],
        method: str,
        name: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency: Idempotency | None = None,
    ) -> ModelRecord:
        """Store a model that was made elsewhere."""
        self._connection.refuse_when_full()
        record = self.new_record(self._connection.now(), data=data, method=method, name=name, metadata=metadata)
        arguments = {
            "id": record.id,
            **self._quotas.arguments(),
            "expires_at": None if record.expires_at is None else timestamp(record.expires_at),
            **self._connection.idempotency_arguments(idempotency),
        }
        values = (record.model_dump_json().encode(), json.dumps(card).encode(), data)
        answer, *rest = self._connection.run(script("model/create"), tenant, arguments, *values)
        if answer == "mismatch":
            raise IdempotencyMismatch("This idempotency key was used with another body.")
        if answer == "over quota":
            self._quotas.refuse(rest)
        return record if answer == "created" else self.get(tenant, rest[0].decode())

    def resolve(self, tenant: str, id_or_alias: str) -> str:
        """The id of the model that an alias names; an id is returned unchanged."""
        return id_or_alias if id_or_alias.startswith("mdl_") else self.get_alias(tenant, id_or_alias).model_id

    def get(self, tenant: str, id_or_alias: str) -> ModelRecord:
        """A model's record."""
        return ModelRecord.model_validate_json(self._read(tenant, id_or_alias, "record"))

    def card(self, tenant: str, id_or_alias: str) -> dict[str, Any]:
        """The card of a model."""
        card: dict[str, Any] = json.loads(self._read(tenant, id_or_alias, "card"))
        return card

    def file(self, tenant: str, id_or_alias: str) -> bytes:
        """The file of a model."""
        return self._read(tenant, id_or_alias, "file")

    def read(self, tenant: str, id: str) -> tuple[ModelRecord, bytes]:
        """The record and file of a model, read atomically: both change when the evidence is added."""
        record, data = self._connection.call("HMGET", key(tenant, "model", id), "record", "file")
        if record is None:
            self._connection.raise_missing("model", tenant, id)
        return ModelRecord.model_validate_json(record), data

    def page(self, tenant: str, *, limit: int = 20, cursor: str | None = None) -> Page[ModelRecord]:
        """A page of models, newest first."""
        ids = self._connection.page_ids(key(tenant, "models"), limit, cursor)
        values = self._connection.call_many([("HGET", key(tenant, "model", id), "record") for id in ids[:limit]])
        records = [ModelRecord.model_validate_json(value) for value in values if value is not None]
        return Page(data=records, next_cursor=ids[limit - 1] if len(ids) > limit else None)

    def delete(self, tenant: str, id: str, *, reason: str = "deleted") -> None:
        """Delete a model and leave a tombstone. Conflict while an alias names it."""
        arguments = {"id": id, "reason": reason, **self._connection.tombstone_arguments()}
        answer, *rest = self._connection.run(script("model/delete"), tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("model", tenant, id)
        if answer == "named":
            raise Conflict(f"The alias {rest[0].decode()!r} names the model {id!r}.")

    def put_alias(
        self, tenant: str, alias: str, model_id: str, *, expected_version: int | None = None
    ) -> tuple[AliasRecord, bool]:
        """Create or move an alias; also returns whether it is new. Expected version 0: the alias must not exist."""
        if alias.startswith("mdl_"):
            raise ValueError("An alias cannot look like a model's id.")
        given = {"alias": alias, "model_id": model_id, "expected_version": expected_version}
        arguments = {**given, **self._quotas.arguments()}
        answer, *rest = self._connection.run(script("alias/put"), tenant, arguments)
        if answer == "missing":
            self._connection.raise_missing("model", tenant, model_id)
        if answer == "over quota":
            self._quotas.refuse(rest)
        if answer == "other version":
            raise PreconditionFailed(f"The alias {alias!r} is at version {rest[0].decode()}, not {expected_version}.")
        return AliasRecord.model_validate_json(rest[0]), answer == "created"

    def get_alias(self, tenant: str, alias: str) -> AliasRecord:
        """An alias by its name."""
        data = self._connection.call("HGET", key(tenant, "aliases"), alias)
        if data is None:
            raise NotFound("model", alias)
        return AliasRecord.model_validate_json(data)

    def aliases(self, tenant: str) -> list[AliasRecord]:
        """All aliases, by name."""
        values = self._connection.call("HVALS", key(tenant, "aliases"))
        return sorted((AliasRecord.model_validate_json(value) for value in values), key=lambda record: record.alias)

    def delete_alias(self, tenant: str, alias: str, *, expected_version: int | None = None) -> None:
        """Delete an alias."""
        arguments = {"alias": alias, "expected_version": expected_version}
        answer, *rest = self._connection.run(script("alias/delete"), tenant, arguments)
        if answer == "missing":
            raise NotFound("alias", alias)
        if answer == "other version":
            raise PreconditionFailed(f"The alias {alias!r} is at version {rest[0].decode()}, not {expected_version}.")

    def _read(self, tenant: str, id_or_alias: str, field: str) -> bytes:
        id = self.resolve(tenant, id_or_alias)
        data: bytes | None = self._connection.call("HGET", key(tenant, "model", id), field)
        if data is None:
            self._connection.raise_missing("model", tenant, id)
        return data
