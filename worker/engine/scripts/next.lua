#!lua flags=allow-oom
-- Store the outcome of the lease of a process, at most once, and give it the next lease. See the docstring of `worker.engine`.
local outcomes = {}

function outcomes.done() -- results or failures of the units of a lease
  for index, report in ipairs(a.outcome.reports) do
    if given(report.failure) then
      redis.call('HSET', ERRORS, report.name, report.failure)
    else
      redis.call('HSET', RESULTS, report.name, ARGV[2 * index])
    end
    redis.call('HDEL', UNITS, report.name)
    if given(report.start) then
      redis.call('SADD', STARTS, report.start)
      set('starts_done', redis.call('SCARD', STARTS)) -- a start may be finished twice: first roughly, then precisely
      observe('start_seconds', report.seconds)
      event('start_done', report.event)
      local best = tonumber(get('best_divergence'))
      if given(report.divergence) and (not best or tonumber(report.divergence) > best) then
        set('best_divergence', report.divergence)
        event('best', report.event)
      end
    end
    if given(report.preview) then -- prefer more rows: only divergences on the same number of rows can be compared
      local shown = redis.call('HMGET', PREVIEW, 'n_rows', 'divergence')
      local n_rows, divergence = tonumber(shown[1]) or 0, tonumber(shown[2])
      local preview = report.preview
      if preview.n_rows > n_rows or preview.n_rows == n_rows and preview.divergence > divergence then
        redis.call('HSET', PREVIEW, 'n_rows', preview.n_rows, 'divergence', preview.divergence, 'rows', ARGV[2 * index + 1])
      end
    end
  end
  progress(#a.outcome.reports)
  cut_when_out_of_time()
  if stage_is_over() then
    make_ready(PLAN)
  end
end

function outcomes.opened() -- the next stage: make its units without a result ready, short ones together in one lease
  cut_when_out_of_time()
  if get('cancel') ~= '' then
    if not is_planned() then
      make_ready(PLAN)
    end
    return
  end
  redis.call('DEL', UNITS, ATTEMPTS)
  for _, field in ipairs({ 'stage', 'begins', 'ends', 'n_units' }) do
    set(field, a.outcome[field])
  end
  set('units_done', 0)
  progress(a.outcome.n_done)
  for index, name in ipairs(a.outcome.names) do
    redis.call('HSET', UNITS, name, ARGV[index + 1])
  end
  for _, names in ipairs(a.outcome.leases) do
    make_ready(names)
  end
end

function outcomes.published() -- the model, or the model with its evidence; ends the fit if nothing follows
  local model, is_new = a.outcome.model_id, get('model_id') == ''
  if not is_new and redis.call('EXISTS', key('model', model)) == 0 then
    end_fit('canceled') -- the model was deleted, so its evidence is not needed
    return
  end
  weigh(model, #ARGV[2] + #ARGV[3] + #ARGV[4])
  redis.call('HSET', key('model', model), 'record', ARGV[2], 'card', ARGV[3], 'file', ARGV[4])
  if get('cancel') ~= '' or redis.call('HLEN', ERRORS) > 0 then -- only a complete fit can be reused for an equal one
    redis.call('HDEL', META, 'equal_key')
  end
  if is_new then
    if get('permute_labels') == '' then -- a fit to permuted labels is not listed
      redis.call('ZADD', key('models'), 0, model)
    end
    if given(a.outcome.expires_at) then
      redis.call('ZADD', shared('expiries'), a.outcome.expires_at, member(model))
    end
    set('model_id', model)
    event('model', cjson.encode({ model_id = model }))
  end
  redis.call('DEL', RESULTS, STARTS)
  if not a.outcome.ends then
    make_ready(PLAN)
    return
  end
  if get('equal_key') ~= '' then
    redis.call('HSET', key('fits', 'equal'), get('equal_key'), fit)
  end
  end_fit('succeeded')
end

function outcomes.ended() -- the fit ends without a model or evidence
  end_fit(a.outcome.status, given(a.outcome.failure) and a.outcome.failure or nil)
end

function outcomes.paused(unit) -- ready again behind the others, to be resumed by any process
  redis.call('HSET', UNITS, unit, ARGV[2])
  redis.call('HINCRBY', ATTEMPTS, unit, -1)
  make_ready(unit)
  cut_when_out_of_time()
end

function outcomes.released(unit) -- the process stops: the attempt does not count
  redis.call('LPUSH', TODO, unit)
  n_made_ready = n_made_ready + 1
  redis.call('HINCRBY', ATTEMPTS, unit, -1)
end

function outcomes.lost(unit) -- the process has died: the attempt counts
  recover(unit)
end

local function is_newer(version, other) -- compare version numbers
  local numbers = other:gmatch('%d+')
  for number in version:gmatch('%d+') do
    local difference = tonumber(number) - tonumber(numbers() or -1)
    if difference ~= 0 then
      return difference > 0
    end
  end
  return false
end

local skipped = {}

-- Units and results of an earlier version mean something else. The fit begins again from its parameters, which hold the
-- defaults under which it was submitted; it no longer answers for a fit that equals what it was.
local function is_readable()
  local schema, library = tonumber(get('schema_version')), get('library_version')
  if schema == a.schema_version and library == a.library_version then
    return true
  end
  if schema > a.schema_version or schema < a.oldest_schema_version or is_newer(library, a.library_version) then
    redis.call('SADD', UNREADABLE, ME)
    skipped[#skipped + 1] = fit
    return false
  end
  drop_all_work()
  redis.call('DEL', RESULTS, ERRORS, STARTS)
  redis.call('HDEL', META, 'stage', 'starts_done', 'best_divergence', 'equal_key', 'n_units', 'share_done')
  redis.call('SREM', UNREADABLE, ME)
  set('schema_version', a.schema_version)
  set('library_version', a.library_version)
  make_ready(PLAN)
  return true
end

local function take() -- lease a unit of this fit, if one can be leased
  cut_when_out_of_time()
  while true do
    local unit = redis.call('LPOP', TODO)
    if not unit then
      return nil
    end
    local attempts = tonumber(redis.call('HGET', ATTEMPTS, unit) or 0)
    if attempts < a.max_attempts then
      return unit
    end
    local failure = cjson.encode({
      type = 'WorkerLost',
      message = 'The process that ran it was lost ' .. attempts .. ' times.',
    })
    if unit == PLAN then
      end_fit('failed', failure)
      return nil
    end
    for name in unit:gmatch('[^\t]+') do
      redis.call('HSET', ERRORS, name, failure)
      progress(1)
    end
    if stage_is_over() then
      make_ready(PLAN)
    end
  end
end

local function lease(unit)
  if get('status') == 'queued' then
    move('running')
    set('started_at', at)
    set('share_before', tonumber(get('share_done')) or 0)
    local budget = tonumber(get('time_budget_ms'))
    if budget then
      set('deadline', at + budget)
    end
    schedule_check()
    event('started')
  end
  local fence = redis.call('HINCRBY', META, 'fence', 1)
  redis.call('HINCRBY', ATTEMPTS, unit, 1)
  redis.call('HSET', LEASES, a.process, table.concat({ tenant, fit, unit, fence }, '\n'))
  redis.call('ZADD', LEASE_ENDS, at + a.lease_ms, a.process)
  redis.call('HSET', LEASED, unit, a.process)
  local turn = redis.call('INCR', shared('turn'))
  set('served', turn)
  redis.call('SET', key('served'), turn)
  redis.call('HSET', shared('metrics'), 'claimed_at', at)
end

-- Of the tenants with ready units, the one that was served least recently; of its fits, the one this process had last, if it
-- is to stay with it, else the one that was served least recently.
local function choose()
  local i = 0
  while true do
    local of = redis.call('ZRANGE', TURNS, i, i)[1]
    if not of then
      return false
    end
    tenant = of
    local READY = key('ready')
    local ids = {}
    if given(a.stay) and a.stay.tenant == of and redis.call('ZSCORE', READY, a.stay.fit) then
      ids[1] = a.stay.fit
    end
    local j = 0
    while true do
      local id = table.remove(ids, 1) or redis.call('ZRANGE', READY, j, j)[1]
      if not id then
        break
      end
      select_fit(of, id)
      local unit = is_readable() and take()
      if unit then
        lease(unit)
        update_ready()
        return true
      end
      update_ready()
      if redis.call('ZSCORE', READY, id) then -- skipped, for workers of another version
        j = j + 1
      end
    end
    if redis.call('ZSCORE', TURNS, of) then
      i = i + 1
    end
  end
end

if given(a.outcome) then
  local of, id, unit = a.outcome.lease:match('^(.*)\n(.*)\n(.*)\n(.*)$')
  select_fit(of, id)
  if redis.call('HGET', LEASES, a.process) == a.outcome.lease then -- else the lease was lost, or this call is a retry
    redis.call('HDEL', LEASED, unit)
    redis.call('HDEL', LEASES, a.process)
    redis.call('ZREM', LEASE_ENDS, a.process)
    outcomes[a.outcome.kind](unit)
    if is_active() then
      schedule_check()
    end
    update_ready()
  end
end
local of, id, unit, fence = lease_of(a.process)
if a.take and not unit and choose() then
  of, id, unit, fence = lease_of(a.process)
  n_made_ready = n_made_ready - (n_made_ready > 0 and 1 or 0) -- this process has taken one of them
end
if not a.take or not unit then
  return { cjson.encode({ n_messages = n_messages(), skipped = skipped }) }
end
select_fit(of, id)
local reply = {
  tenant = of, fit = id, unit = unit, fence = tonumber(fence), at = at, n_messages = n_messages(), skipped = skipped,
  model_id = get('model_id'), cancel = get('cancel'),
}
local arguments = {}
if unit ~= PLAN then
  for name in unit:gmatch('[^\t]+') do
    arguments[#arguments + 1] = redis.call('HGET', UNITS, name) or ''
  end
end
return { cjson.encode(reply), arguments }
