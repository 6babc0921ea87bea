-- lead: this process is up; it takes or keeps the reaper's lock. Answers whether we lead, and the time.
-- ARGV: owner ttl_ms up_ms
redis.call('ZADD', P .. ':up', int(now + tonumber(ARGV[3])), ARGV[1])
local key = P .. ':reaper'
local holder = redis.call('GET', key)
if not holder or holder == ARGV[1] then
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
  return {1, int(now)}
end
return {0, int(now)}
