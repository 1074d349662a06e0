#!lua flags=allow-oom
-- Cancel a fit at once, or let it end with the best start so far.
if redis.call('EXISTS', META) == 0 then
  return { 'missing' }
end
if not is_active() then
  return { 'ended' }
end
if a.keep_best and (redis.call('HLEN', RESULTS) > 0 or get('model_id') ~= '') then
  if get('cancel') == '' then
    cut('keep_best')
  end
else
  end_fit('canceled')
end
update_ready()
return { 'canceled' }
