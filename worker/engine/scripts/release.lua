#!lua flags=allow-oom
-- Take a unit out of a process's hands: one that is known to be dead, or one that stops in good order. The latter gives it
-- back as if it had never begun.
if lease(a.unit) ~= a.fence then
  return { 'lost', 0 }
end
if a.dead then
  recover(a.unit)
else
  drop_lease(a.unit)
  redis.call('ZADD', TODO, at + a.grace_ms, a.unit)
  redis.call('HINCRBY', ATTEMPTS, a.unit, -1)
end
return answer({ 'released' }, 1)
