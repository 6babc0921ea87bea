-- hook_rotate: a new secret; the one before signs along until its time is over.
-- ARGV: id tenant secret hint keep_ms
local key, secrets = hook_key(ARGV[1]), P .. ':hs:' .. ARGV[1]
if redis.call('HGET', key, 't') ~= ARGV[2] then return {} end
local before = redis.call('HGET', secrets, 'sec')
if before == ARGV[3] then return redis.call('HGETALL', key) end -- the same call, sent again
redis.call('HDEL', secrets, 'old', 'oldx')
if tonumber(ARGV[5]) > 0 and before then redis.call('HSET', secrets, 'old', before, 'oldx', int(now + tonumber(ARGV[5]))) end
redis.call('HSET', secrets, 'sec', ARGV[3])
redis.call('HSET', key, 'hint', ARGV[4], 'u', int(now))
return redis.call('HGETALL', key)
