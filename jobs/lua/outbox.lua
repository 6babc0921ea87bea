-- outbox: jobs whose ticket should be out by now and was never acknowledged. Entries that mean nothing any more are dropped.
-- ARGV: grace_ms limit
-- Answers a flat list of id, attempt, pipeline.
local out = {}
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', outbox_key, '-inf', int(now - tonumber(ARGV[1])), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local id, attempt = string.match(entry, '^(.+):(%d+)$')
  local f = redis.call('HMGET', record_key(id or ''), 's', 'a', 'p')
  if f[1] == 'queued' and f[2] == attempt then
    out[#out + 1] = id
    out[#out + 1] = attempt
    out[#out + 1] = f[3]
  else
    redis.call('ZREM', outbox_key, entry)
  end
end
return out
