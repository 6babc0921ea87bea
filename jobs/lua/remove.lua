-- remove: a document goes, and its object becomes garbage.
-- ARGV: kind id tenant
local key = P .. ':' .. ARGV[1] .. ':' .. ARGV[2]
local f = redis.call('HMGET', key, 't', 'c', 'doc', 'k', 'b')
if f[1] ~= ARGV[3] then return {} end
redis.call('DEL', key)
redis.call('ZREM', P .. ':' .. ARGV[1] .. 't:' .. ARGV[3], ARGV[2])
toss('', f[4], now)
store_more(f[1], -(tonumber(f[5]) or 0))
return {f[2], f[3]}
