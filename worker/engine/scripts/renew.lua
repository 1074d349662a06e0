#!lua flags=allow-oom
-- A process still has the unit in hand.
if lease(a.unit) ~= a.fence then
  return { 'lost' }
end
redis.call('ZADD', TODO, 'XX', at + a.lease_ms, a.unit)
schedule()
return { 'renewed' }
