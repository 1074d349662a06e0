#!lua flags=allow-oom
-- Remove an expired fit.
if is_active() then
  return { 'active' }
end
local name = get('name')
if name ~= '' then
  redis.call('ZREM', key('fits', 'name', name), a.fit)
end
if redis.call('HGET', key('fits', 'equal'), get('equal_key')) == a.fit then
  redis.call('HDEL', key('fits', 'equal'), get('equal_key'))
end
redis.call('ZREM', key('fits', 'status', get('status')), a.fit)
redis.call('ZREM', key('fits'), a.fit)
redis.call('DEL', META, RESULTS, ERRORS, STARTS, EVENTS)
bury(a.fit, 'expired')
return { 'expired' }
