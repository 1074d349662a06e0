#!lua flags=allow-oom
-- Whether it is the caller's turn to look for what is overdue.
return { redis.call('SET', shared('sweeping'), '1', 'NX', 'PX', a.sweep_ms) and 'begun' or 'not now' }
