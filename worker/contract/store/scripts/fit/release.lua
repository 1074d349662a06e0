#!lua flags=allow-oom
-- Take a unit out of a process's hands: one that stops in good order, or one that is known to be dead.
if lease(a.unit) ~= a.fence then
  return { 'lost', 0 }
end
drop_lease(a.unit)
redis.call('ZADD', TODO, at + a.grace_ms, a.unit)
if a.dead then
  redis.call('HINCRBY', META, 'recoveries', 1)
  count('recoveries_total', 1)
  event('recovered', cjson.encode({ unit = a.unit, attempts = tonumber(redis.call('HGET', ATTEMPTS, a.unit)) }))
else
  redis.call('HINCRBY', ATTEMPTS, a.unit, -1)
end
return answer({ 'released' }, 1)
