#!lua flags=allow-oom
-- Recover lost work: expired leases (unless the store was unavailable), time budgets that ended while no worker ran, fits that
-- are in no queue, and lost messages. The last item of the reply is how many processes to wake.
if a.judge_leases then
  if not redis.call('SET', shared('sweeping'), '1', 'NX', 'PX', a.sweep_ms) then
    return { 'not now', 0 }
  end
  for _, process in ipairs(redis.call('ZRANGEBYSCORE', LEASE_ENDS, '-inf', at, 'LIMIT', 0, 1000)) do
    local of, id, unit = lease_of(process)
    if unit then
      select_fit(of, id)
      recover(unit)
      update_ready()
    else
      redis.call('ZREM', LEASE_ENDS, process)
    end
  end
elseif redis.call('EXISTS', shared('sweeping')) == 1 then -- somebody who may judge leases has just swept
  return { 'not now', 0 }
end
for _, each in ipairs(redis.call('ZRANGEBYSCORE', ACTIVE, '-inf', at, 'LIMIT', 0, 1000)) do
  select_fit(each:match('^(.*)\n(.*)$'))
  if is_active() then
    cut_when_out_of_time()
    for unit, process in pairs_of('HGETALL', LEASED) do
      local _, of_fit, held = lease_of(process)
      if of_fit ~= fit or held ~= unit then -- should never happen; planning finds all units without a result
        drop_all_work()
      end
    end
    if stage_is_over() then
      make_ready(PLAN)
    end
    schedule_check()
  else
    redis.call('ZREM', ACTIVE, ME)
  end
  update_ready()
end
return { 'looked', redis.call('EXISTS', TURNS) == 1 and n_idle() or 0 }
