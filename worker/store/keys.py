r"""The map of all keys.

Of all tenants, so that what looks after them costs as much as there is work, however many tenants there are. A member
names the tenant first; its parts stand on lines of their own (`tenant\nfit`), because no tenant's name has two lines.

    melm:active                         sorted set: fit → when a sweep looks at it
    melm:queued                         sorted set: fit that nobody has begun → since when
    melm:turns                          sorted set: tenant with a unit to lease → turn at which it was served last
    melm:turn                           how many leases there have been
    melm:leases                         hash: process → tenant, fit, unit and fence of its lease
    melm:lease_ends                     sorted set: process → when its lease ends
    melm:unreadable                     set: fits of another version than that of the worker who met them
    melm:expiries                       sorted set: id of a dataset, fit or model → when it expires
    melm:metrics                        hash: counter → value
    melm:sweeping                       whose turn it is to sweep; expires
    melm:bytes                          hash: tenant → bytes of all that it has
    melm:workers                        sorted set: worker → when it last said that it is alive
    melm:processes                      hash: worker → how many processes it has
    melm:tenants                        written by 0.1 only: the tenants whose indexes are still to be moved here

Of a tenant, under `melm:{tenant}:`

    dataset:ID                          a dataset's record, JSON
    dataset:ID:blocks                   hash: number → block of rows; `labels` → y and what else a table holds;
                                        `info` → columns that are only shown
    dataset:ID:fits                     set: active fits that use it
    datasets                            sorted set: ids, in the order of time
    datasets:hashes                     hash: content hash (and that of `info`) → id
    model:ID                            hash: record, card, file
    models                              sorted set: ids
    sizes                               hash: id of a dataset, model or fit → its bytes
    aliases                             hash: alias → record, JSON
    idempotency:KEY                     hash: body_hash, id of what was made; expires
    tombstone:ID                        why a resource is gone; expires
    fits, fits:status:S, fits:name:N    sorted sets: ids
    fits:equal                          hash: what two equal fits share → the fit that may answer for both
    events                              channel: ids of fits that something happened to
    served                              turn at which the tenant was served last
    ready                               sorted set: fit with a unit to lease → turn at which it was served last
    fit:ID:meta                         hash: what the record shows, the last fence given out, the last turn
    fit:ID:todo                         list: what is to be leased: units, and names of several with tabs between
    fit:ID:leased                       hash: what is leased → process
    fit:ID:units, :attempts             hashes: unit → arguments; what is leased → how often it was begun
    fit:ID:results, :errors             hashes: unit → result; → why it was given up
    fit:ID:starts                       set: starts that some unit has finished
    fit:ID:preview                      hash: rows as the best start so far places them, and how that was judged
    fit:ID:events                       stream

The broker's keys begin with `melm-broker:`; nothing is lost when all of them are deleted.
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
    """A tenant's fit, unit or id in an index of all tenants."""
    return "\n".join((tenant, *parts))


def key(tenant: str, *parts: str) -> str:
    """One of a tenant's keys."""
    return ":".join((f"{PREFIX}:{{{tenant}}}", *parts))
