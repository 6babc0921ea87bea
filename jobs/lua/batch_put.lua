-- batch_put: a batch begins, unless its tenant has its maximum of those that have not ended.
-- ARGV: id tenant document open_max
local key, open = P .. ':b:' .. ARGV[1], P .. ':bo:' .. ARGV[2]
local holder = redis.call('HMGET', key, 't', 'c')
if holder[1] then return holder[1] == ARGV[2] and holder[2] or '' end
if redis.call('SCARD', open) >= tonumber(ARGV[4]) then return 'full' end
redis.call('HSET', key, 't', ARGV[2], 'c', int(now), 's', 'validating', 'doc', ARGV[3], 'n', 0)
redis.call('SADD', open, ARGV[1])
redis.call('ZADD', P .. ':bt:' .. ARGV[2], 0, ARGV[1])
redis.call('ZADD', P .. ':bq', int(now), ARGV[1])
return int(now)
