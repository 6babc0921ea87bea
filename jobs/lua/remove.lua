-- remove: a document goes, and its object becomes garbage.
-- ARGV: kind id tenant
local key = P .. ':' .. ARGV[1] .. ':' .. ARGV[2]
local f = redis.call('HMGET', key, 't', 'c', 'doc', 'k')
if f[1] ~= ARGV[3] then return {} end
redis.call('DEL', key)
redis.call('ZREM', P .. ':' .. ARGV[1] .. 't:' .. ARGV[3], ARGV[2])
toss('', f[4], now)
return {f[2], f[3]}
