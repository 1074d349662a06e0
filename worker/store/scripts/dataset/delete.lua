#!lua flags=allow-oom
local record = redis.call('GET', key('dataset', a.id))
if not record then
  return { 'missing' }
end
if redis.call('SCARD', key('dataset', a.id, 'fits')) > 0 then
  return { 'in use' }
end
redis.call('DEL', key('dataset', a.id), key('dataset', a.id, 'blocks'), key('dataset', a.id, 'fits'))
redis.call('HDEL', key('datasets', 'hashes'), a.address)
redis.call('ZREM', key('datasets'), a.id)
bury(a.id, a.reason)
return { 'deleted' }
