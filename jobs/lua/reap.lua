-- reap: running jobs whose lease ran out go back to the queue, or end after too many deaths.
-- ARGV: pipeline limit deaths_max retention_ms zombie_ms code message until_ms
-- Answers a flat list of id, attempt, state. After until_ms it does nothing: a call that waited in a frozen server, or in a reaper that slept, knows nothing of the gap in
-- which workers could not renew.
if now > tonumber(ARGV[8]) then return {} end
local running = running_key(ARGV[1])
local out = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', running, '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local key = record_key(id)
  local f = redis.call('HMGET', key, 's', 'a', 'p')
  if f[1] ~= 'in_progress' or f[3] ~= ARGV[1] then
    redis.call('ZREM', running, id)
  elseif redis.call('HINCRBY', key, 'nd', 1) >= tonumber(ARGV[3]) then
    fail(id, tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7])
    stop(id)
    out[#out + 1] = id
    out[#out + 1] = f[2]
    out[#out + 1] = 'failed'
  else
    requeue(id, tonumber(ARGV[5]), now)
    stop(id)
    out[#out + 1] = id
    out[#out + 1] = f[2]
    out[#out + 1] = 'queued'
  end
end
return out
