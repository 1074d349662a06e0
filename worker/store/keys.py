r"""The map of all Redis keys.

Keys of all tenants. These are shared, so that the cost of a sweep depends on the work and not on the number of tenants.
The parts of a member are separated by newlines, the tenant first (`tenant\nfit`); no tenant's name has a newline.

    melm:active                         sorted set: fit → when a sweep checks it
    melm:queued                         sorted set: queued fit → when it was queued
    melm:turns                          sorted set: tenant with a ready unit → turn in which it was last served
    melm:turn                           number of leases so far
    melm:leases                         hash: process → tenant, fit, unit and fence of its lease
    melm:lease_ends                     sorted set: process → when its lease ends
    melm:unreadable                     set: fits of a version that some worker could not read
    melm:expiries                       sorted set: id of a dataset, fit or model → when it expires
    melm:metrics                        hash: counter → value
    melm:sweeping                       lock of the last sweep; expires
    melm:bytes                          hash: tenant → bytes of all its resources
    melm:workers                        sorted set: worker → time of its last heartbeat
    melm:processes                      hash: worker → number of its processes
    melm:tenants                        written by 0.1 only: tenants whose indexes have to be migrated

Keys of a tenant, with the prefix `melm:{tenant}:`

    dataset:ID                          a dataset's record, JSON
    dataset:ID:blocks                   hash: number → block of rows; `labels` → y and other values of a table;
                                        `info` → columns that are only shown
    dataset:ID:fits                     set: active fits that use it
    datasets                            sorted set: ids, by time
    datasets:hashes                     hash: content hash (and that of `info`) → id
    model:ID                            hash: record, card, file
    models                              sorted set: ids
    sizes                               hash: id of a dataset, model or fit → its bytes
    aliases                             hash: alias → record, JSON
    idempotency:KEY                     hash: body_hash, id of what was made; expires
    tombstone:ID                        why a resource answers 410 Gone; expires
    fits, fits:status:S, fits:name:N    sorted sets: ids
    fits:equal                          hash: hash of the parameters of a fit → fit that can be reused
    events                              channel: ids of fits that have changed
    served                              turn in which the tenant was last served
    ready                               sorted set: fit with a ready unit → turn in which it was last served
    fit:ID:meta                         hash: fields of the record, the last fencing token, the last turn
    fit:ID:todo                         list: ready units; those that share a lease separated by tabs
    fit:ID:leased                       hash: leased units → process
    fit:ID:units, :attempts             hashes: unit → arguments; leased units → number of attempts
    fit:ID:results, :errors             hashes: unit → result; unit → error
    fit:ID:starts                       set: finished starts
    fit:ID:preview                      hash: rows in the projection of the best start so far, and its score
    fit:ID:events                       stream

The broker's keys begin with `melm-broker:`; they can all be deleted without loss.
"""

from __future__ import annotations

PREFIX = "melm"
ACTIVE = f"{PREFIX}:active"
QUEUED = f"{PREFIX}:queued"
LEASES = f"{PREFIX}:leases"
UNREADABLE = f"{PREFIX}:unreadable"
EXPIRIES = f"{PREFIX}:expiries"
METRICS = f"{PREFIX}:metrics"
HELD_BYTES = f"{PREFIX}:bytes"
HEARTBEATS = f"{PREFIX}:workers"
PROCESSES = f"{PREFIX}:processes"
EARLIER_TENANTS = f"{PREFIX}:tenants"


def member(tenant: str, *parts: str) -> str:
    """A member of an index of all tenants."""
    return "\n".join((tenant, *parts))


def key(tenant: str, *parts: str) -> str:
    """A key of a tenant."""
    return ":".join((f"{PREFIX}:{{{tenant}}}", *parts))
