-- Mark a request as in flight, unless its idempotency key was used before.
local before = made_before()
if before then
  return before
end
local name = key('idempotency', a.idempotency.key)
if redis.call('EXISTS', name) == 1 then
  return { 'in flight' }
end
redis.call('HSET', name, 'body_hash', a.idempotency.body_hash)
redis.call('PEXPIRE', name, a.in_flight_ms)
return { 'begun' }
