-- Queue an ended fit again. Results are kept; failed units run again.
local status = get('status')
if status == '' then
  return { 'missing' }
end
if not MOVES[status]['queued'] then
  return { 'conflict', status }
end
if redis.call('EXISTS', key('dataset', get('dataset_id'))) == 0 then
  return { 'no dataset', get('dataset_id') }
end
local over = over_quota('active fits', n_active(), 1)
if over then
  return over
end
move('queued')
redis.call('HDEL', META, 'error', 'ended_at', 'expires_at', 'cancel', 'deadline', 'started_at')
redis.call('HINCRBY', META, 'attempts', 1)
redis.call('DEL', ERRORS)
if redis.call('EXISTS', key('model', get('model_id'))) == 0 then -- deleted since
  redis.call('HDEL', META, 'model_id')
end
redis.call('ZREM', shared('expiries'), ME)
redis.call('SADD', key('dataset', get('dataset_id'), 'fits'), a.fit)
event('queued')
make_ready(PLAN)
schedule_check()
update_ready()
return { 'queued' }
