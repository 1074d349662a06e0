#!lua flags=allow-oom
-- Put up the units of the next stage that have no result yet, and hand the planner's process the first.
if not is_active() then
  return { 'refused', 0 }
end
if lease(PLAN) ~= a.fence then
  local mine = take() -- asked again because the answer was lost, or taken over
  return answer(mine[1] == 'unit' and mine or { 'refused' })
end
cut_when_out_of_time()
if get('cancel') ~= '' then
  return { 'cut', 0 }
end
drop_lease(PLAN)
redis.call('DEL', TODO, WAITING, UNITS, ATTEMPTS)
set('stage', a.stage)
set('begins', a.begins)
set('ends', a.ends)
set('n_units', a.n_units)
set('units_done', 0)
progress(a.n_units - #a.names)
redis.call('HDEL', META, 'resends')
for index, name in ipairs(a.names) do
  redis.call('RPUSH', WAITING, name)
  redis.call('HSET', UNITS, name, ARGV[index + 1])
end
local first = take()
return answer(first, send_waiting(a.window))
