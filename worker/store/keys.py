"""The map of all keys.

Of all tenants:

    melm:tenants                        set: all tenants that ever stored something
    melm:workers                        sorted set: worker → when it last said that it is alive

Of a tenant, under `melm:{tenant}:`

    dataset:ID                          a dataset's record, JSON
    dataset:ID:blocks                   hash: number → block of rows; `labels` → y and what else a table holds
    dataset:ID:fits                     set: active fits that use it
    datasets                            sorted set: ids, in the order of time
    datasets:hashes                     hash: content hash → id
    model:ID                            hash: record, card, file
    models                              sorted set: ids
    aliases                             hash: alias → record, JSON
    idempotency:KEY                     hash: body_hash, id of what was made; expires
    tombstone:ID                        why a resource is gone; expires
    expiries                            sorted set: id → when it expires
    fits, fits:status:S, fits:name:N    sorted sets: ids
    fits:equal                          hash: what two equal fits share → the fit that may answer for both
    active                              sorted set: fit → when it needs a look
    leases                              hash: fit and unit → fence and process
    unreadable                          set: fits of another version than that of the worker who met them
    metrics                             hash: counter → value
    events                              channel: ids of fits that something happened to
    sweeping                            whose turn it is to sweep; expires
    fit:ID:meta                         hash: what the record shows, and the last fence given out
    fit:ID:waiting                      list: units of the open stage that no message stands for yet
    fit:ID:todo                         sorted set: unit in flight → when it is due
    fit:ID:units, :attempts             hashes: unit → arguments; → how often it was begun
    fit:ID:results, :done, :errors      hashes: unit → result; → fence under which it was written; → why it was given up
    fit:ID:starts                       set: starts that some unit has finished
    fit:ID:events                       stream

The broker's keys begin with `melm-broker:`; nothing is lost when all of them are deleted.
"""

from __future__ import annotations

PREFIX = "melm"
TENANTS = f"{PREFIX}:tenants"
HEARTBEATS = f"{PREFIX}:workers"


def key(tenant: str, *parts: str) -> str:
    """One of a tenant's keys."""
    return ":".join((f"{PREFIX}:{{{tenant}}}", *parts))
