-- heartbeat: a worker is up. An empty document says that it is gone.
-- ARGV: owner document ttl_ms
if ARGV[2] == '' then
  redis.call('ZREM', P .. ':workers', ARGV[1])
  redis.call('HDEL', P .. ':worker', ARGV[1])
else
  redis.call('ZADD', P .. ':workers', int(now + tonumber(ARGV[3])), ARGV[1])
  redis.call('HSET', P .. ':worker', ARGV[1], ARGV[2])
end
return 0
