-- Shared by the scripts of the engine. They work on one fit at a time: the one that `select_fit` was called for last.
local PLAN = '@plan' -- the unit that plans a fit's next stage
local LEASES, LEASE_ENDS, ACTIVE = shared('leases'), shared('lease_ends'), shared('active')
local QUEUED, UNREADABLE, TURNS = shared('queued'), shared('unreadable'), shared('turns')
local fit, ME, META, TODO, LEASED, UNITS, ATTEMPTS, RESULTS, ERRORS, STARTS, PREVIEW, EVENTS
local at = now()
local n_made_ready = 0 -- units that this script has made ready

local function select_fit(of_tenant, id)
  tenant, fit, ME = of_tenant, id, of_tenant .. '\n' .. id
  META, TODO, LEASED = key('fit', fit, 'meta'), key('fit', fit, 'todo'), key('fit', fit, 'leased')
  UNITS, ATTEMPTS = key('fit', fit, 'units'), key('fit', fit, 'attempts')
  RESULTS, ERRORS = key('fit', fit, 'results'), key('fit', fit, 'errors')
  STARTS, PREVIEW, EVENTS = key('fit', fit, 'starts'), key('fit', fit, 'preview'), key('fit', fit, 'events')
end

local function pairs_of(...) -- iterate over a flat list of names and values, the form in which the server returns a hash
  local flat, index = redis.call(...), -1
  return function()
    index = index + 2
    return flat[index], flat[index + 1]
  end
end

local function get(field) -- '' if the field does not exist
  return redis.call('HGET', META, field) or ''
end

local function set(field, value)
  redis.call('HSET', META, field, value)
end

local function event(type, data)
  redis.call('XADD', EVENTS, 'MAXLEN', '~', 10000, '*', 'type', type, 'data', data or '{}')
  redis.call('PUBLISH', key('events'), fit)
end

local function move(to)
  local from = get('status')
  assert(from == '' or MOVES[from][to], 'no move from ' .. from .. ' to ' .. to)
  set('status', to)
  redis.call('SREM', UNREADABLE, ME)
  if to == 'queued' then
    redis.call('ZADD', QUEUED, at, ME)
  else
    redis.call('ZREM', QUEUED, ME)
  end
  redis.call('ZREM', key('fits', 'status', from), fit)
  redis.call('ZADD', key('fits', 'status', to), 0, fit)
end

local function is_active()
  local status = get('status')
  return status == 'queued' or status == 'running'
end

local function n_active() -- number of fits of this tenant that have not ended
  return redis.call('ZCARD', key('fits', 'status', 'queued')) + redis.call('ZCARD', key('fits', 'status', 'running'))
end

-- A fit is in its tenant's `ready`, and the tenant in `turns`, while a unit can be leased; both by when they were last served.
local function update_ready()
  local READY = key('ready')
  if redis.call('LLEN', TODO) > 0 and redis.call('HLEN', LEASED) < a.window then
    redis.call('ZADD', READY, tonumber(get('served')) or 0, fit)
  else
    redis.call('ZREM', READY, fit)
  end
  if redis.call('EXISTS', READY) == 1 then
    redis.call('ZADD', TURNS, tonumber(redis.call('GET', key('served'))) or 0, tenant)
  else
    redis.call('ZREM', TURNS, tenant)
  end
end

local function schedule_check() -- a sweep checks the fit when its time budget ends, or after a while
  local deadline = get('cancel') == '' and tonumber(get('deadline')) or math.huge
  redis.call('ZADD', ACTIVE, string.format('%.0f', math.min(deadline, at + a.check_ms)), ME)
end

local function make_ready(unit)
  redis.call('RPUSH', TODO, unit)
  n_made_ready = n_made_ready + 1
end

local function drop_lease(unit)
  local process = redis.call('HGET', LEASED, unit)
  if process then
    redis.call('HDEL', LEASED, unit)
    redis.call('HDEL', LEASES, process)
    redis.call('ZREM', LEASE_ENDS, process)
  end
end

local function drop_all_work()
  for _, unit in ipairs(redis.call('HKEYS', LEASED)) do
    drop_lease(unit)
  end
  redis.call('DEL', TODO, UNITS, ATTEMPTS)
end

local function end_fit(status, failure)
  drop_all_work()
  move(status)
  set('ended_at', at)
  redis.call('DEL', PREVIEW)
  if status == 'succeeded' then
    set('share_done', 1)
  end
  if failure then
    set('error', failure)
  end
  redis.call('ZREM', ACTIVE, ME)
  redis.call('SREM', key('dataset', get('dataset_id'), 'fits'), fit)
  local lifetime = tonumber(get('lifetime_ms'))
  if lifetime then
    set('expires_at', at + lifetime)
    redis.call('ZADD', shared('expiries'), at + lifetime, ME)
  end
  count('fits_total:' .. status, 1)
  local started_at = tonumber(get('started_at'))
  if started_at then
    observe('fit_seconds', (at - started_at) / 1000)
  end
  event(status, failure)
end

local function stage_is_over()
  return redis.call('LLEN', TODO) == 0 and redis.call('HLEN', LEASED) == 0
end

local function is_planned() -- whether the planning of the fit is ready or leased
  return redis.call('LINDEX', TODO, 0) == PLAN or redis.call('HEXISTS', LEASED, PLAN) == 1
end

local function cut(reason) -- drop the remaining units: the plan continues with the results so far
  set('cancel', reason)
  if not is_planned() then
    drop_all_work()
    make_ready(PLAN)
  end
end

local function cut_when_out_of_time()
  local deadline = tonumber(get('deadline'))
  if deadline and at >= deadline and get('cancel') == '' then
    cut('out_of_time')
  end
end

local function progress(n) -- n more units of the open stage have ended
  local done = redis.call('HINCRBY', META, 'units_done', n)
  local begins, ends, n_units = tonumber(get('begins')), tonumber(get('ends')), tonumber(get('n_units'))
  if n_units then
    set('share_done', begins + (ends - begins) * math.min(done / n_units, 1))
  end
end

local function recover(unit) -- after its process was lost
  drop_lease(unit)
  redis.call('LPUSH', TODO, unit)
  n_made_ready = n_made_ready + 1
  redis.call('HINCRBY', META, 'recoveries', 1)
  count('recoveries_total', 1)
  event('recovered', cjson.encode({ unit = unit, attempts = tonumber(redis.call('HGET', ATTEMPTS, unit)) }))
end

local function lease_of(process) -- tenant, fit, unit and fence
  local value = redis.call('HGET', LEASES, process)
  if value then
    return value:match('^(.*)\n(.*)\n(.*)\n(.*)$')
  end
end

local function n_idle() -- number of processes without a lease, of workers that are alive
  local workers = redis.call('ZRANGEBYSCORE', shared('workers'), at - a.alive_ms, '+inf')
  local n = -redis.call('HLEN', LEASES)
  for _, worker in ipairs(workers) do
    n = n + (tonumber(redis.call('HGET', shared('processes'), worker)) or 0)
  end
  return math.max(n, 0)
end

local function n_messages() -- how many processes to wake for the units that this script has made ready
  return n_made_ready > 0 and math.min(n_made_ready, n_idle()) or 0
end

if given(a.fit) then
  select_fit(tenant, a.fit)
end
