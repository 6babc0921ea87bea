-- cancel: a job that has not ended fails as cancelled, and its worker is told.
-- ARGV: id tenant retention_ms zombie_ms code message
local f = redis.call('HMGET', record_key(ARGV[1]), 't', 's', 'exp')
if f[1] ~= ARGV[2] or (f[3] and tonumber(f[3]) <= now) then return {'missing'} end
if f[2] ~= 'queued' and f[2] ~= 'in_progress' then return {'ended', redis.call('HGETALL', record_key(ARGV[1]))} end
fail(ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6])
if f[2] == 'in_progress' then stop(ARGV[1]) end
return {'cancelled', redis.call('HGETALL', record_key(ARGV[1]))}
