#!lua flags=allow-oom
-- A process still has its unit.
if redis.call('HGET', LEASES, a.process) ~= a.lease then
  return { 'lost' }
end
redis.call('ZADD', LEASE_ENDS, at + a.lease_ms, a.process)
return { 'renewed' }
