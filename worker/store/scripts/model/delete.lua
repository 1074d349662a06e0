#!lua flags=allow-oom
if redis.call('EXISTS', key('model', a.id)) == 0 then
  return { 'missing' }
end
local aliases = redis.call('HGETALL', key('aliases'))
for index = 2, #aliases, 2 do
  if cjson.decode(aliases[index]).model_id == a.id then
    return { 'named', aliases[index - 1] }
  end
end
redis.call('DEL', key('model', a.id))
redis.call('ZREM', key('models'), a.id)
bury(a.id, a.reason)
return { 'deleted' }
