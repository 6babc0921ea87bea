-- hook_create: an endpoint of a tenant, and its secret beside it.
-- ARGV: id tenant endpoints_max name url events secret hint
local id, tenant = ARGV[1], ARGV[2]
local holder = redis.call('HMGET', hook_key(id), 't', 'c')
if holder[1] then return holder[1] == tenant and holder[2] or 'taken' end
if redis.call('ZCARD', P .. ':ht:' .. tenant) >= tonumber(ARGV[3]) then return 'full' end
redis.call('HSET', hook_key(id), 't', tenant, 'c', int(now), 'u', int(now), 'name', ARGV[4], 'url', ARGV[5], 'ev', ARGV[6], 'hint', ARGV[8])
redis.call('HSET', P .. ':hs:' .. id, 'sec', ARGV[7])
redis.call('ZADD', P .. ':ht:' .. tenant, 0, id)
return int(now)
