-- garbage: entries that are due. They come back after a minute unless they are reported done.
-- ARGV: limit
local out = redis.call('ZRANGEBYSCORE', P .. ':garbage', '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))
for _, entry in ipairs(out) do redis.call('ZADD', P .. ':garbage', int(now + 60000), entry) end
return out
