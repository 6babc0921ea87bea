-- hook_sweep: what endpoints that are gone or off still had to send. An endpoint that is off keeps the deliveries, as failed; one that is gone leaves nothing.
-- ARGV: limit reason
local endpoint = redis.call('SRANDMEMBER', P .. ':hgone')
if not endpoint then return 0 end
local f = redis.call('HMGET', hook_key(endpoint), 'c', 'off')
local limit = tonumber(ARGV[1])
if f[1] and not f[2] then
  redis.call('SREM', P .. ':hgone', endpoint)
  return limit
end
local events = redis.call('ZRANGE', f[1] and due_key(endpoint) or history_key(endpoint), 0, limit - 1)
for _, event in ipairs(events) do
  local key = delivery_key(endpoint, event)
  redis.call('ZREM', due_key(endpoint), event)
  redis.call('ZREM', flying_key(endpoint), event)
  if f[1] then
    redis.call('HSET', key, 's', 'failed', 'why', ARGV[2], 'at', int(now))
    redis.call('HDEL', key, 'tok')
    redis.call('PEXPIRE', key, deliveries_keep_ms)
  else
    redis.call('DEL', key)
    redis.call('ZREM', history_key(endpoint), event)
  end
end
if #events < limit then
  if not f[1] then redis.call('DEL', due_key(endpoint), flying_key(endpoint), history_key(endpoint)) end
  redis.call('SREM', P .. ':hgone', endpoint)
end
return limit
