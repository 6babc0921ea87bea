-- batch_take: the batch that is due longest is ours until its lease ends. The fence n goes up, so that a holder that was frozen writes nothing more.
-- ARGV: lease_ms
-- Answers id, time and record, or nothing.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', P .. ':bq', '-inf', int(now), 'LIMIT', 0, 10)) do
  local key = P .. ':b:' .. id
  if redis.call('EXISTS', key) == 1 then
    redis.call('HINCRBY', key, 'n', 1)
    redis.call('ZADD', P .. ':bq', int(now + tonumber(ARGV[1])), id)
    return {id, int(now), redis.call('HGETALL', key)}
  end
  redis.call('ZREM', P .. ':bq', id)
end
return {}
