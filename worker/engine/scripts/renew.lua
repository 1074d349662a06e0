#!lua flags=allow-oom
-- Renew the lease of a process.
if redis.call('HGET', LEASES, a.process) ~= a.lease then
  return { 'lost' }
end
redis.call('ZADD', LEASE_ENDS, at + a.lease_ms, a.process)
return { 'renewed' }
