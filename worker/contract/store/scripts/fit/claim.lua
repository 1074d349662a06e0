#!lua flags=allow-oom
-- Give a process a unit of this fit.
if not is_active() then
  return { 'nothing', 0 }
end
local version = tonumber(get('schema_version'))
if version > a.schema_version then
  return { 'newer', version, 0 }
end
return answer(take())
