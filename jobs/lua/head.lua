-- head: the oldest queued jobs of a pipeline that have waited a while, so that their tickets can be looked for.
-- ARGV: pipeline limit age_ms
-- Answers a flat list of id, attempt.
local out = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', queued_key(ARGV[1]), '-inf', int(now_us - tonumber(ARGV[3]) * 1000), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local f = redis.call('HMGET', record_key(id), 's', 'a', 'qa')
  if f[1] ~= 'queued' then
    redis.call('ZREM', queued_key(ARGV[1]), id)
  elseif not f[3] or tonumber(f[3]) <= now - tonumber(ARGV[3]) then
    out[#out + 1] = id
    out[#out + 1] = f[2]
  end
end
return out
