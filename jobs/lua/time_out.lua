-- time_out: jobs that waited too long for a worker fail. A job that ran before waits anew since it came back.
-- ARGV: pipeline limit timeout_ms retention_ms zombie_ms code message
local queued = queued_key(ARGV[1])
local latest = now - tonumber(ARGV[3])
local n = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', queued, '-inf', int(latest * 1000), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local f = redis.call('HMGET', record_key(id), 's', 'qa')
  if f[1] ~= 'queued' then
    redis.call('ZREM', queued, id)
  elseif not f[2] or tonumber(f[2]) <= latest then
    fail(id, tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7])
    n = n + 1
  end
end
return n
