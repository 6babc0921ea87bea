-- forget: records whose retention is over. ARGV: limit. Answers how many.
local n = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due_key('gone'), '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))) do
  local tenant = redis.call('HGET', record_key(id), 't')
  if tenant then redis.call('ZREM', tenant_key(tenant), id) end
  redis.call('ZREM', all_key, id)
  redis.call('ZREM', due_key('gone'), id)
  redis.call('DEL', record_key(id))
  n = n + 1
end
return n
