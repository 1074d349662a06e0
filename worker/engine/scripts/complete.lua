#!lua flags=allow-oom
-- Store what a unit gave, or why it gave nothing, and hand its process the next one. Written once: a process whose lease was
-- taken away is refused, one that asks again because an answer was lost is not.
if not is_active() then
  return { 'refused', 0 }
end
local fence = lease(a.unit)
if fence == a.fence then
  redis.call('ZREM', TODO, a.unit)
  drop_lease(a.unit)
  redis.call('HDEL', UNITS, a.unit)
  redis.call('HSET', DONE, a.unit, a.fence)
  if given(a.failure) then
    redis.call('HSET', ERRORS, a.unit, a.failure)
  else
    redis.call('HSET', RESULTS, a.unit, ARGV[2])
  end
  progress(1)
  if given(a.start) then
    redis.call('SADD', STARTS, a.start)
    set('starts_done', redis.call('SCARD', STARTS)) -- a start may be finished twice: first roughly, then well
    observe('start_seconds', a.seconds)
    event('start_done', a.event)
    local best = tonumber(get('best_divergence'))
    if given(a.divergence) and (not best or tonumber(a.divergence) > best) then
      set('best_divergence', a.divergence)
      event('best', a.event)
    end
  end
  if given(a.preview) then -- the most rows count first: only divergences on equally many can be compared
    local shown = redis.call('HMGET', PREVIEW, 'n_rows', 'divergence')
    local n_rows, divergence = tonumber(shown[1]) or 0, tonumber(shown[2])
    if a.preview.n_rows > n_rows or a.preview.n_rows == n_rows and a.preview.divergence > divergence then
      redis.call('HSET', PREVIEW, 'n_rows', a.preview.n_rows, 'divergence', a.preview.divergence, 'rows', ARGV[3])
    end
  end
elseif redis.call('HGET', DONE, a.unit) ~= tostring(a.fence) then
  return { 'refused', 0 }
end
cut_when_out_of_time()
if stage_is_over() then
  plan_next()
end
local planning = redis.call('ZSCORE', TODO, PLAN)
if a.process ~= '' and (a.carry_on or planning) then
  return answer(take())
end
return answer({ 'nothing' }, planning and 1 or send_waiting(1))
