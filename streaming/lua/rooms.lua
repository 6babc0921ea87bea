-- rooms: the rooms to close now. Each is given out again after a while, until unroom says that it is closed. ARGV: limit retry_ms
local out = redis.call('ZRANGEBYSCORE', rooms_key, '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))
for _, room in ipairs(out) do redis.call('ZADD', rooms_key, int(now + tonumber(ARGV[2])), room) end
return out
