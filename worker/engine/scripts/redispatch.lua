#!lua flags=allow-oom
-- Find what is overdue: leases that nobody renewed (unless the caller cannot know that), messages that nobody took.
-- Messages that wait in a long queue look like lost ones; so the grace doubles with every time that one is sent again, up
-- to sixteenfold, until the next stage: a queue must not grow because it is long.
if not is_active() then
  redis.call('ZREM', ACTIVE, ME)
  return { 'ended', 0 }
end
local n_messages, resends = cut_when_out_of_time() and 1 or 0, nil
for _, unit in ipairs(redis.call('ZRANGEBYSCORE', TODO, '-inf', at)) do
  local fence = lease(unit)
  if fence and a.judge_leases then
    recover(unit)
    n_messages = n_messages + 1
  elseif not fence then
    resends = resends or redis.call('HINCRBY', META, 'resends', 1)
    redis.call('ZADD', TODO, at + a.grace_ms * 2 ^ math.min(resends - 1, 4), unit)
    n_messages = n_messages + 1
  end
end
if redis.call('ZCARD', TODO) == 0 then -- should never be, and planning anew finds all that has no result
  plan_next()
  n_messages = 1
end
return answer({ 'looked' }, n_messages)
