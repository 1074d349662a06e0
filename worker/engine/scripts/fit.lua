-- Shared by the scripts of a fit, whose id is a.fit.
--
--   meta      what the record shows, and the last fence given out
--   waiting   names of units of the open stage that no message stands for yet
--   todo      names of units in flight → when they are due: a message's grace, or a lease's end
--   units     name → arguments of the open stage's units
--   attempts  name → how often a unit was begun
--   results   name → result, written once          done    name → fence under which it was written
--   errors    name → why the unit was given up      events  stream
--   starts    the starts that some unit has finished
--   preview   rows as the best start so far places them, and how that was judged
--
-- The `leases` of all tenants (fit and unit → fence and process) tell which units in flight are in a process's hands; the
-- others have a message on its way. `active` sorts the fits by when they need a look; `unreadable` are those of another
-- version than that of the worker who met them. Planning the next stage is a unit too.
local PLAN = '@plan'
local META, WAITING, TODO = key('fit', a.fit, 'meta'), key('fit', a.fit, 'waiting'), key('fit', a.fit, 'todo')
local UNITS, ATTEMPTS = key('fit', a.fit, 'units'), key('fit', a.fit, 'attempts')
local RESULTS, DONE, ERRORS = key('fit', a.fit, 'results'), key('fit', a.fit, 'done'), key('fit', a.fit, 'errors')
local STARTS, EVENTS = key('fit', a.fit, 'starts'), key('fit', a.fit, 'events')
local PREVIEW = key('fit', a.fit, 'preview')
local LEASES, ACTIVE, UNREADABLE = shared('leases'), shared('active'), shared('unreadable')
local QUEUED, ME = shared('queued'), member(a.fit)

local at = now()

local function get(field) -- '' where there is nothing
  return redis.call('HGET', META, field) or ''
end

local function set(field, value)
  redis.call('HSET', META, field, value)
end

local function event(type, data)
  redis.call('XADD', EVENTS, 'MAXLEN', '~', 10000, '*', 'type', type, 'data', data or '{}')
  redis.call('PUBLISH', key('events'), a.fit)
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
  redis.call('ZREM', key('fits', 'status', from), a.fit)
  redis.call('ZADD', key('fits', 'status', to), 0, a.fit)
end

local function is_active()
  local status = get('status')
  return status == 'queued' or status == 'running'
end

local function n_active() -- fits of this tenant that have not ended
  return redis.call('ZCARD', key('fits', 'status', 'queued')) + redis.call('ZCARD', key('fits', 'status', 'running'))
end

local function schedule() -- when this fit needs a look
  local first = redis.call('ZRANGE', TODO, 0, 0, 'WITHSCORES')[2]
  local deadline = tonumber(get('deadline'))
  if first then
    local due = tonumber(first)
    if deadline and get('cancel') == '' then
      due = math.min(due, deadline)
    end
    redis.call('ZADD', ACTIVE, due, ME)
  end
end

local function lease(unit) -- fence and process of whoever has the unit in hand
  local value = redis.call('HGET', LEASES, member(a.fit, unit))
  if value then
    local fence, process = value:match('^(%d+) (.*)$')
    return tonumber(fence), process
  end
end

local function drop_lease(unit)
  redis.call('HDEL', LEASES, member(a.fit, unit))
end

local function drop_all_work()
  for _, unit in ipairs(redis.call('ZRANGE', TODO, 0, -1)) do
    drop_lease(unit)
  end
  redis.call('DEL', TODO, WAITING, UNITS, ATTEMPTS)
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
  redis.call('SREM', key('dataset', get('dataset_id'), 'fits'), a.fit)
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

local function plan_next() -- the stage is over, or cut off: somebody has to see what comes next
  redis.call('ZADD', TODO, at + a.grace_ms, PLAN)
end

local function cut(reason) -- no more units: the plan goes on with what there is
  if redis.call('ZSCORE', TODO, PLAN) then
    set('cancel', reason)
    return
  end
  drop_all_work()
  set('cancel', reason)
  plan_next()
end

local function cut_when_out_of_time()
  local deadline = tonumber(get('deadline'))
  if deadline and at >= deadline and get('cancel') == '' then
    cut('out_of_time')
    return true
  end
end

local function stage_is_over()
  return redis.call('ZCARD', TODO) == 0 and redis.call('LLEN', WAITING) == 0
end

local function progress(n) -- so many more units of the open stage are over
  local done = redis.call('HINCRBY', META, 'units_done', n)
  local begins, ends, n_units = tonumber(get('begins')), tonumber(get('ends')), tonumber(get('n_units'))
  if n_units then
    set('share_done', begins + (ends - begins) * math.min(done / n_units, 1))
  end
end

local function give_up(unit, failure)
  redis.call('ZREM', TODO, unit)
  drop_lease(unit)
  redis.call('HSET', ERRORS, unit, failure)
  progress(1)
end

local function recover(unit) -- its process is lost: a message stands for it again
  drop_lease(unit)
  redis.call('ZADD', TODO, at + a.grace_ms, unit)
  redis.call('HINCRBY', META, 'recoveries', 1)
  count('recoveries_total', 1)
  event('recovered', cjson.encode({ unit = unit, attempts = tonumber(redis.call('HGET', ATTEMPTS, unit)) }))
end

local function grant(unit)
  if get('status') == 'queued' then
    move('running')
    set('started_at', at)
    set('share_before', tonumber(get('share_done')) or 0)
    local budget = tonumber(get('time_budget_ms'))
    if budget then
      set('deadline', at + budget)
    end
    event('started')
  end
  local fence = redis.call('HINCRBY', META, 'fence', 1)
  redis.call('HINCRBY', ATTEMPTS, unit, 1)
  redis.call('HSET', LEASES, member(a.fit, unit), fence .. ' ' .. a.process)
  redis.call('ZADD', TODO, at + a.lease_ms, unit)
  redis.call('HSET', shared('metrics'), 'claimed_at', at)
  return fence
end

local function send_waiting(n) -- let messages stand for up to n more units; answers for how many
  local n_sent = 0
  while n_sent < n and redis.call('ZCARD', TODO) < a.window do
    local unit = redis.call('LPOP', WAITING)
    if not unit then
      break
    end
    redis.call('ZADD', TODO, at + a.grace_ms, unit)
    n_sent = n_sent + 1
  end
  return n_sent
end

-- Give the caller's process a unit. With a message of its own (a.fresh) it takes one that a message stands for; carrying on,
-- it takes one that has none yet. A process that asks again because an answer was lost gets the unit it has.
local function take()
  cut_when_out_of_time()
  while true do
    local sent
    for _, unit in ipairs(redis.call('ZRANGE', TODO, 0, -1)) do
      local fence, process = lease(unit)
      if process == a.process then
        return { 'unit', unit, fence, redis.call('HGET', UNITS, unit) or '' }
      end
      if not fence then
        sent = sent or unit
      end
    end
    local unit = a.fresh and sent
    if not unit and redis.call('ZCARD', TODO) < a.window then
      unit = redis.call('LPOP', WAITING)
    end
    unit = unit or sent
    if not unit then
      return { 'nothing' }
    end
    local attempts = tonumber(redis.call('HGET', ATTEMPTS, unit) or 0)
    if attempts < a.max_attempts then
      return { 'unit', unit, grant(unit), redis.call('HGET', UNITS, unit) or '' }
    end
    local failure = cjson.encode({
      type = 'WorkerLost',
      message = 'The process that ran it was lost ' .. attempts .. ' times.',
    })
    if unit == PLAN then
      end_fit('failed', failure)
      return { 'nothing' }
    end
    give_up(unit, failure)
    if stage_is_over() then
      plan_next()
    end
  end
end

local function answer(reply, n_messages)
  schedule()
  reply[#reply + 1] = n_messages or 0
  return reply
end
