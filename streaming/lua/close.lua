-- close: the owner ends its session, or adds the last facts to one that was ended for it.
-- ARGV: id epoch worker status reason message facts outcome retention_ms room_ms
local id = ARGV[1]
local key = record_key(id)
local f = redis.call('HMGET', key, 's', 'e', 'w')
if f[2] ~= ARGV[2] or f[3] ~= ARGV[3] then return 'stale' end
if ARGV[7] ~= '' then redis.call('HSET', key, 'facts', ARGV[7]) end
if ARGV[8] ~= '' then redis.call('HSET', key, 'out', ARGV[8]) end
if terminal(f[1]) then return 'ended' end
finish(id, ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[9]), tonumber(ARGV[10]))
return 'closed'
