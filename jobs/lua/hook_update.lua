-- hook_update: changes what is given; an empty text leaves a field alone. An endpoint that was off is on again.
-- ARGV: id tenant name url events
local key = hook_key(ARGV[1])
local f = redis.call('HMGET', key, 't', 'name', 'url', 'ev', 'off')
if f[1] ~= ARGV[2] then return {} end
local changed_any = f[5] and true or false
for i, field in ipairs({'name', 'url', 'ev'}) do
  local value = ARGV[2 + i]
  if value ~= '' and value ~= f[1 + i] then
    redis.call('HSET', key, field, value)
    changed_any = true
  end
end
if changed_any then
  redis.call('HSET', key, 'u', int(now))
  redis.call('HDEL', key, 'off', 'pu', 'bad')
  redis.call('SREM', P .. ':hgone', ARGV[1])
  plan(ARGV[1])
end
return redis.call('HGETALL', key)
