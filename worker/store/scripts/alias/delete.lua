#!lua flags=allow-oom
local current = redis.call('HGET', key('aliases'), a.alias)
if not current then
  return { 'missing' }
end
local version = cjson.decode(current).version
if given(a.expected_version) and a.expected_version ~= version then
  return { 'other version', tostring(version) }
end
redis.call('HDEL', key('aliases'), a.alias)
return { 'deleted' }
