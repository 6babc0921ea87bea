-- time_out: sessions past a deadline end. A session that waits for a new owner ends with the reason that it lost the old one.
-- ARGV: kind status reason message limit retention_ms room_ms
-- Answers a flat list of id, reason.
local out = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due_key(ARGV[1]), '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[5]))) do
  local f = redis.call('HMGET', record_key(id), 's', 'rqr')
  redis.call('ZREM', due_key(ARGV[1]), id)
  if f[1] and not terminal(f[1]) then
    local status, reason = ARGV[2], ARGV[3]
    if ARGV[1] == 'reassign' then
      reason = f[2] or reason
      if reason == 'drained' then status = 'closed' end
    end
    finish(id, status, reason, ARGV[4], tonumber(ARGV[6]), tonumber(ARGV[7]))
    out[#out + 1] = id
    out[#out + 1] = reason
  end
end
return out
