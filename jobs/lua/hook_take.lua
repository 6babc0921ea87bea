-- hook_take: deliveries that are due, for one sender, which has them until its lease ends. An endpoint has a few under way at a time, and one alone while it fails.
-- ARGV: limit flying_max bad_max lease_ms nonce
-- Answers a list of lists: endpoint, event, url, secret, old secret, then the fields of the delivery.
local limit, flying_max, bad_max, lease, nonce = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local out = {}
for _, endpoint in ipairs(redis.call('ZRANGEBYSCORE', P .. ':hnext', '-inf', int(now), 'LIMIT', 0, limit)) do
  if #out >= limit then break end
  local flying = flying_key(endpoint)
  redis.call('ZREMRANGEBYSCORE', flying, '-inf', int(now))
  local f = redis.call('HMGET', hook_key(endpoint), 'url', 'bad')
  local s = redis.call('HMGET', P .. ':hs:' .. endpoint, 'sec', 'old', 'oldx')
  local old = s[2] and tonumber(s[3]) > now and s[2] or ''
  local room = (tonumber(f[2] or 0) >= bad_max and 1 or flying_max) - redis.call('ZCARD', flying)
  if room <= 0 then
    redis.call('ZADD', P .. ':hnext', redis.call('ZRANGE', flying, 0, 0, 'WITHSCORES')[2], endpoint)
  else
    for _, event in ipairs(redis.call('ZRANGEBYSCORE', due_key(endpoint), '-inf', int(now), 'LIMIT', 0, math.min(room, limit - #out))) do
      local key = delivery_key(endpoint, event)
      if redis.call('EXISTS', key) == 0 then
        redis.call('ZREM', due_key(endpoint), event)
      else
        redis.call('HSET', key, 'tok', nonce)
        redis.call('ZADD', due_key(endpoint), int(now + lease), event)
        redis.call('ZADD', flying, int(now + lease), event)
        out[#out + 1] = {endpoint, event, f[1], s[1], old, redis.call('HGETALL', key)}
      end
    end
    plan(endpoint)
  end
end
return out
