#!lua flags=allow-oom
-- The plan has ended, or a unit found that the fit cannot go on: store the model and the status in one step.
if not is_active() then
  return { get('model_id') == a.model_id and 'finished' or 'refused' }
end
if lease(a.unit) ~= a.fence then
  return { 'refused' }
end
if a.status == 'succeeded' then
  redis.call('HSET', key('model', a.model_id), 'record', ARGV[2], 'card', ARGV[3], 'file', ARGV[4])
  if get('permute_labels') == '' then -- a decoy is in no list
    redis.call('ZADD', key('models'), 0, a.model_id)
  end
  if given(a.model_expires_at) then
    redis.call('ZADD', shared('expiries'), a.model_expires_at, member(a.model_id))
  end
  set('model_id', a.model_id)
  if get('cancel') == '' and get('equal_key') ~= '' and redis.call('HLEN', ERRORS) == 0 then -- only a whole fit may answer for an equal one
    redis.call('HSET', key('fits', 'equal'), get('equal_key'), a.fit)
  end
  redis.call('DEL', RESULTS, DONE, STARTS)
end
end_fit(a.status, given(a.failure) and a.failure or nil)
return { 'finished' }
