-- sweep: expired records and staged objects that found no owner become garbage.
-- ARGV: limit zombie_ms
local n = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry_key, '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))) do
  if redis.call('EXISTS', record_key(id)) == 1 then forget(id, tonumber(ARGV[2])) else redis.call('ZREM', expiry_key, id) end
  n = n + 1
end
for _, k in ipairs(redis.call('ZRANGEBYSCORE', P .. ':staged', '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))) do
  redis.call('ZREM', P .. ':staged', k)
  toss('', k, now)
  n = n + 1
end
return n
