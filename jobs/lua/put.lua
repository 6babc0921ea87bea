-- put: a document of a tenant (a file, a character) and its place in the tenant's index; its object is staged no longer. One that was given up meanwhile
-- is garbage by now, and gets no document.
-- ARGV: kind id tenant document object_key bytes
local key = P .. ':' .. ARGV[1] .. ':' .. ARGV[2]
local holder = redis.call('HMGET', key, 't', 'c')
if holder[1] then return holder[1] == ARGV[3] and holder[2] or '' end
if not redis.call('ZSCORE', P .. ':staged', ARGV[5]) then return 'unstaged' end
redis.call('HSET', key, 't', ARGV[3], 'c', int(now), 'doc', ARGV[4], 'k', ARGV[5], 'b', ARGV[6])
store_more(ARGV[3], ARGV[6])
redis.call('ZADD', P .. ':' .. ARGV[1] .. 't:' .. ARGV[3], 0, ARGV[2])
redis.call('ZREM', P .. ':staged', ARGV[5])
return int(now)
