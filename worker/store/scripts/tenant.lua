-- Precedes every script. ARGV[1] has the named arguments as JSON, ARGV[2] and the following have binary values. Scripts compute
-- their keys, also those of all tenants, so they do not run on Redis Cluster.
local a = cjson.decode(ARGV[1])
local tenant = a.tenant

local function key(...) -- a key of the tenant
  return 'melm:{' .. tenant .. '}:' .. table.concat({ ... }, ':')
end

local function shared(name) -- a key of all tenants
  return 'melm:' .. name
end

local function member(...) -- a member of such a key that belongs to the tenant
  return table.concat({ tenant, ... }, '\n')
end

local function now() -- milliseconds; only the clock of the server is used
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function given(value) -- cjson decodes null to a value that is true in Lua
  return value ~= nil and value ~= cjson.null
end

local function count(name, by)
  redis.call('HINCRBYFLOAT', shared('metrics'), name, by)
end

local function observe(name, seconds) -- add a value to a histogram
  count(name .. '_sum', seconds)
  count(name .. '_count', 1)
  for _, bound in ipairs({ 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000 }) do
    if seconds <= bound then
      count(name .. '_bucket:' .. bound, 1)
    end
  end
end

-- An idempotency key is written atomically with the resource that its request creates.
local function made_before()
  if not given(a.idempotency) then
    return nil
  end
  local made = redis.call('HMGET', key('idempotency', a.idempotency.key), 'body_hash', 'id')
  if made[1] and made[1] ~= a.idempotency.body_hash then
    return { 'mismatch' }
  end
  return made[2] and { 'replayed', made[2] }
end

local function remember_made(id, was_there)
  if given(a.idempotency) then
    local name = key('idempotency', a.idempotency.key)
    redis.call('HSET', name, 'body_hash', a.idempotency.body_hash, 'id', id)
    if was_there then -- a repeated request gets the same answer
      redis.call('HSET', name, 'was_there', 1)
    end
    redis.call('PEXPIRE', name, a.idempotency_ms)
  end
end

local function weigh(id, bytes) -- account for the bytes of a resource of the tenant
  local before = tonumber(redis.call('HGET', key('sizes'), id) or 0)
  if bytes > 0 then
    redis.call('HSET', key('sizes'), id, bytes)
  else
    redis.call('HDEL', key('sizes'), id)
  end
  if redis.call('HINCRBY', shared('bytes'), tenant, bytes - before) == 0 then
    redis.call('HDEL', shared('bytes'), tenant)
  end
end

local function over_quota(name, used, wanted) -- the reply of a script if a quota is exceeded
  local limit = a.quotas[name]
  if limit > 0 and used + wanted > limit then
    return { 'over quota', name, string.format('%.0f', used), string.format('%.0f', limit) }
  end
end

local function held_bytes()
  return tonumber(redis.call('HGET', shared('bytes'), tenant) or 0)
end

local function bury(id, reason) -- leave a tombstone, so that the resource answers 410 Gone
  weigh(id, 0)
  redis.call('SET', key('tombstone', id), reason, 'PX', a.tombstone_ms)
  redis.call('ZREM', shared('expiries'), member(id))
end
