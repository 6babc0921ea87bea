-- note: what the owner knows of its session. An empty argument changes nothing.
-- ARGV: id epoch worker status participants facts state first controller room active outcome controller_ms room_ms
-- controller is "present", "absent" or "unknown"; room is "joined", "empty" or "unknown"; active, first are "1".
local id = ARGV[1]
local key = record_key(id)
local f = redis.call('HMGET', key, 's', 'e', 'w', 'rs')
if not owns(f, ARGV[2], ARGV[3]) then return {'stale', f[1] or '', f[4] or ''} end
redis.call('HSET', key, 'u', int(now))
local function set(field, value) if value ~= '' then redis.call('HSET', key, field, value) end end
set('s', ARGV[4])
set('facts', ARGV[6])
set('state', ARGV[7])
set('ff', ARGV[8])
set('out', ARGV[12])
if ARGV[4] == 'running' or ARGV[4] == 'starting_pipeline' or ARGV[4] == 'draining' then redis.call('SADD', on_key, id) end
if ARGV[5] == '-' then redis.call('HDEL', key, 'pc') else set('pc', ARGV[5]) end

local function watch(kind, absent, ms)
  if absent then redis.call('ZADD', due_key(kind), 'NX', int(now + tonumber(ms)), id) else redis.call('ZREM', due_key(kind), id) end
end
if ARGV[9] ~= '' then watch('controller', ARGV[9] == 'absent', ARGV[13]) end
if ARGV[10] == 'joined' then redis.call('HSET', key, 'jn', 1) end
if ARGV[10] ~= '' then watch('room', ARGV[10] == 'empty' and redis.call('HEXISTS', key, 'jn') == 1, ARGV[14]) end
if ARGV[11] == '1' then controlled(id) end
return {'ok'}
