local current = redis.call('HGET', key('aliases'), a.alias)
local version = current and cjson.decode(current).version or 0
if given(a.expected_version) and a.expected_version ~= version then
  return { 'other version', tostring(version) }
end
if redis.call('EXISTS', key('model', a.model_id)) == 0 then
  return { 'missing' }
end
local over = version == 0 and over_quota('aliases', redis.call('HLEN', key('aliases')), 1)
if over then
  return over
end
local at = now()
local record = cjson.encode({ alias = a.alias, model_id = a.model_id, version = version + 1, updated_at = at / 1000 })
redis.call('HSET', key('aliases'), a.alias, record)
return { version == 0 and 'created' or 'changed', record }
