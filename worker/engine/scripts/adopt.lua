#!lua flags=allow-oom
-- Migrate the indexes per tenant of version 0.1 to those of all tenants. Active fits of 0.1 are planned again.
for _, id in ipairs(redis.call('ZRANGE', key('active'), 0, -1)) do
  select_fit(a.tenant, id)
  redis.call('DEL', TODO, key('fit', id, 'waiting'), key('fit', id, 'done'), UNITS, ATTEMPTS)
  if get('status') == 'queued' then
    redis.call('ZADD', QUEUED, get('created_at'), ME)
  end
  make_ready(PLAN)
  schedule_check()
  update_ready()
end
for id, expires_at in pairs_of('ZRANGE', key('expiries'), 0, -1, 'WITHSCORES') do
  redis.call('ZADD', shared('expiries'), 'NX', expires_at, member(id))
end
for name, value in pairs_of('HGETALL', key('metrics')) do
  if name ~= 'claimed_at' then
    redis.call('HINCRBYFLOAT', shared('metrics'), name, value)
  elseif tonumber(value) > tonumber(redis.call('HGET', shared('metrics'), name) or 0) then
    redis.call('HSET', shared('metrics'), name, value)
  end
end
for id in pairs_of('ZRANGE', key('datasets'), 0, -1, 'WITHSCORES') do
  weigh(id, cjson.decode(redis.call('GET', key('dataset', id))).n_bytes)
end
for id in pairs_of('ZRANGE', key('models'), 0, -1, 'WITHSCORES') do
  weigh(id, redis.call('HSTRLEN', key('model', id), 'file') + redis.call('HSTRLEN', key('model', id), 'card'))
end
redis.call('DEL', key('active'), key('leases'), key('expiries'), key('metrics'), key('unreadable'), key('sweeping'))
redis.call('SREM', shared('tenants'), a.tenant)
return { 'adopted' }
