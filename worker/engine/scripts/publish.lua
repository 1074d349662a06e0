#!lua flags=allow-oom
-- Store the fit's model; or store it again, with its evidence. Where nothing is to follow, the fit ends in the same step.
if not is_active() then
  return { get('model_id') == a.model_id and 'published' or 'refused' }
end
if lease(PLAN) ~= a.fence then
  return { 'refused' }
end
local is_new = get('model_id') == ''
if not is_new and redis.call('EXISTS', key('model', a.model_id)) == 0 then
  end_fit('canceled') -- the model was deleted: nobody wants its evidence
  return { 'refused' }
end
weigh(a.model_id, #ARGV[2] + #ARGV[3] + #ARGV[4])
redis.call('HSET', key('model', a.model_id), 'record', ARGV[2], 'card', ARGV[3], 'file', ARGV[4])
if get('cancel') ~= '' or redis.call('HLEN', ERRORS) > 0 then -- only a whole fit may answer for an equal one
  redis.call('HDEL', META, 'equal_key')
end
if is_new then
  if get('permute_labels') == '' then -- a decoy is in no list
    redis.call('ZADD', key('models'), 0, a.model_id)
  end
  if given(a.model_expires_at) then
    redis.call('ZADD', shared('expiries'), a.model_expires_at, member(a.model_id))
  end
  set('model_id', a.model_id)
  redis.call('DEL', RESULTS, DONE, STARTS)
  event('model', cjson.encode({ model_id = a.model_id }))
end
if a.ends then
  if get('equal_key') ~= '' then
    redis.call('HSET', key('fits', 'equal'), get('equal_key'), a.fit)
  end
  redis.call('DEL', RESULTS, DONE)
  end_fit('succeeded')
end
return { 'published' }
