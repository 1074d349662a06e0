#!lua flags=allow-oom
-- Give a process a unit of this fit.
local function is_newer(version, other) -- compared number by number
  local numbers = other:gmatch('%d+')
  for number in version:gmatch('%d+') do
    local difference = tonumber(number) - tonumber(numbers() or -1)
    if difference ~= 0 then
      return difference > 0
    end
  end
  return false
end

-- Units and results of another version of the library mean something else. The fit begins again from its parameters, which
-- hold the defaults under which it was submitted; it no longer answers for a fit that equals what it was.
local function plan_again()
  drop_all_work()
  redis.call('DEL', RESULTS, DONE, ERRORS, STARTS)
  redis.call('HDEL', META, 'stage', 'starts_done', 'best_divergence', 'equal_key', 'n_units', 'share_done')
  redis.call('SREM', UNREADABLE, ME)
  set('library_version', a.library_version)
  plan_next()
end

if not is_active() then
  return { 'nothing', 0 }
end
local version = tonumber(get('schema_version'))
if version ~= a.schema_version then
  for _, upgradable in ipairs(a.upgradable) do
    if version == upgradable then
      return { 'older', version, 0 }
    end
  end
  redis.call('SADD', UNREADABLE, ME)
  return { 'unknown', version, 0 }
end
local planned_by = get('library_version')
if planned_by ~= a.library_version then
  if is_newer(planned_by, a.library_version) then
    redis.call('SADD', UNREADABLE, ME)
    return { 'newer', planned_by, 0 }
  end
  plan_again()
end
return answer(take())
