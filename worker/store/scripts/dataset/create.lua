-- Turn stored blocks into a dataset. They were written with an expiry; this makes them permanent, or deletes them if the
-- same content is already stored.
local before = made_before()
if before then
  return before
end
local index = key('datasets', 'hashes')
local existing = redis.call('HGET', index, a.address)
if existing and existing ~= a.id then
  redis.call('DEL', key('dataset', a.id, 'blocks'))
  remember_made(existing, true)
  return { 'existing', existing }
end
if redis.call('HLEN', key('dataset', a.id, 'blocks')) ~= a.n_blocks + 1 then
  return { 'incomplete' }
end
local over = over_quota('datasets', redis.call('ZCARD', key('datasets')), 1) or over_quota('bytes', held_bytes(), a.n_bytes)
if over then
  return over
end
weigh(a.id, a.n_bytes)
redis.call('PERSIST', key('dataset', a.id, 'blocks'))
redis.call('SET', key('dataset', a.id), ARGV[2])
redis.call('HSET', index, a.address, a.id)
redis.call('ZADD', key('datasets'), 0, a.id)
if given(a.expires_at) then
  redis.call('ZADD', shared('expiries'), a.expires_at, member(a.id))
end
remember_made(a.id)
return { 'created', a.id }
