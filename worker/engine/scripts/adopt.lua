#!lua flags=allow-oom
-- Move what 0.1 kept of this tenant in indexes of its own to those of all tenants. A fit that has been taken up since is
-- further than what is moved, and stays as it is.
local function pairs_of(command, name, ...)
  local flat, index = redis.call(command, key(name), ...), -1
  return function()
    index = index + 2
    return flat[index], flat[index + 1]
  end
end
for fit, due in pairs_of('ZRANGE', 'active', 0, -1, 'WITHSCORES') do
  redis.call('ZADD', shared('active'), 'NX', due, member(fit))
  local meta = redis.call('HMGET', key('fit', fit, 'meta'), 'status', 'created_at')
  if meta[1] == 'queued' then
    redis.call('ZADD', shared('queued'), 'NX', meta[2], member(fit))
  end
end
for field, value in pairs_of('HGETALL', 'leases') do
  local fit, unit = field:match('^(%S+) (.*)$')
  redis.call('HSETNX', shared('leases'), member(fit, unit), value)
end
for id, expires_at in pairs_of('ZRANGE', 'expiries', 0, -1, 'WITHSCORES') do
  redis.call('ZADD', shared('expiries'), 'NX', expires_at, member(id))
end
for name, value in pairs_of('HGETALL', 'metrics') do
  if name ~= 'claimed_at' then
    redis.call('HINCRBYFLOAT', shared('metrics'), name, value)
  elseif tonumber(value) > tonumber(redis.call('HGET', shared('metrics'), name) or 0) then
    redis.call('HSET', shared('metrics'), name, value)
  end
end
for id in pairs_of('ZRANGE', 'datasets', 0, -1, 'WITHSCORES') do
  weigh(id, cjson.decode(redis.call('GET', key('dataset', id))).n_bytes)
end
for id in pairs_of('ZRANGE', 'models', 0, -1, 'WITHSCORES') do
  weigh(id, redis.call('HSTRLEN', key('model', id), 'file') + redis.call('HSTRLEN', key('model', id), 'card'))
end
redis.call('DEL', key('active'), key('leases'), key('expiries'), key('metrics'), key('unreadable'), key('sweeping'))
redis.call('SREM', shared('tenants'), a.tenant)
return { 'adopted' }
