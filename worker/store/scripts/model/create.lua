-- Store an imported model.
local before = made_before()
if before then
  return before
end
local bytes = #ARGV[2] + #ARGV[3] + #ARGV[4]
local over = over_quota('models', redis.call('ZCARD', key('models')), 1) or over_quota('bytes', held_bytes(), bytes)
if over then
  return over
end
weigh(a.id, bytes)
redis.call('HSET', key('model', a.id), 'record', ARGV[2], 'card', ARGV[3], 'file', ARGV[4])
redis.call('ZADD', key('models'), 0, a.id)
if given(a.expires_at) then
  redis.call('ZADD', shared('expiries'), a.expires_at, member(a.id))
end
remember_made(a.id)
return { 'created', a.id }
