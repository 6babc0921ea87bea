-- finish: a session ends at its user's wish, or its operator's.
-- ARGV: tenant id status reason message retention_ms room_ms
local f = redis.call('HMGET', record_key(ARGV[2]), 's', 't')
if f[2] ~= ARGV[1] then return {'missing'} end
if terminal(f[1]) then return {'ended', answer(ARGV[2])} end
finish(ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]))
return {'finished', answer(ARGV[2])}
