#!lua flags=allow-oom
-- The fit cannot go on: its plan found nothing, or a unit found out.
if not is_active() or lease(a.unit) ~= a.fence then
  return { 'refused' }
end
end_fit(a.status, given(a.failure) and a.failure or nil)
return { 'finished' }
