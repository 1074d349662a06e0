-- Store a fit and make its planning ready, or find an existing fit that answers the request.
if redis.call('EXISTS', META) == 1 then
  return { 'created', a.fit, redis.call('HGETALL', META) } -- a retry of this call
end
local before = made_before()
if before then
  return before
end
if redis.call('EXISTS', key('dataset', a.meta.dataset_id)) == 0 then
  return { 'no dataset' }
end
local equal = not a.force and redis.call('HGET', key('fits', 'equal'), a.meta.equal_key)
if equal then
  local model = redis.call('HGET', key('fit', equal, 'meta'), 'model_id')
  if model and redis.call('EXISTS', key('model', model)) == 1 then
    remember_made(equal)
    return { 'reused', equal }
  end
end
local over = over_quota('active fits', n_active(), 1)
  or over_quota('queued fits', redis.call('ZCARD', key('fits', 'status', 'queued')), 1)
  or over_quota('models', redis.call('ZCARD', key('models')) + n_active(), 1)
  or over_quota('bytes', held_bytes(), #ARGV[1])
if over then
  return over
end
weigh(a.fit, #ARGV[1])
for field, value in pairs(a.meta) do
  set(field, value)
end
set('created_at', at)
move('queued')
if not a.meta.permute_labels then -- a fit to permuted labels is not listed
  redis.call('ZADD', key('fits'), 0, a.fit)
end
if a.meta.name and not a.meta.permute_labels then
  redis.call('ZADD', key('fits', 'name', a.meta.name), 0, a.fit)
end
redis.call('SADD', key('dataset', a.meta.dataset_id, 'fits'), a.fit)
remember_made(a.fit)
event('queued')
make_ready(PLAN)
schedule_check()
update_ready()
return { 'created', a.fit, redis.call('HGETALL', META) }
