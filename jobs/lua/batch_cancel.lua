-- batch_cancel: a batch that has not ended is to end; whoever holds it loses it, and has the time of one call to notice before another takes it.
-- ARGV: id tenant
local key = P .. ':b:' .. ARGV[1]
local f = redis.call('HMGET', key, 't', 's')
if f[1] ~= ARGV[2] then return {} end
if f[2] == 'validating' or f[2] == 'in_progress' then
  redis.call('HSET', key, 's', 'cancelling', 'cl', int(now))
  redis.call('HINCRBY', key, 'n', 1)
  redis.call('ZADD', P .. ':bq', int(now + 4000), ARGV[1])
elseif f[2] ~= 'cancelling' and f[2] ~= 'cancelled' then
  return {'ended'}
end
return {'ok', redis.call('HGETALL', key)}
