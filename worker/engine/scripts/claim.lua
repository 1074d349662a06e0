#!lua flags=allow-oom
-- Give a process a unit of this fit.
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
return answer(take())
