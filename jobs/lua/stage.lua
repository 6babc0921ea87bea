-- stage: object keys that an attempt is about to write.
-- ARGV: id attempt keys
if not owns(ARGV[1], ARGV[2]) then return 'stale' end
local key = record_key(ARGV[1])
local before = redis.call('HGET', key, 'sk')
redis.call('HSET', key, 'sk', before and before ~= '' and before .. '\n' .. ARGV[3] or ARGV[3])
return 'ok'
