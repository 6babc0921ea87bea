-- requeue: the attempt gives the job back, or ends it when the cause's budget is spent.
-- ARGV: id attempt counter retries_max retention_ms zombie_ms pause_ms pause_max_ms code message. An empty counter charges nothing.
local id = ARGV[1]
if not owns(id, ARGV[2]) then
  local f = redis.call('HMGET', record_key(id), 's', 'a')
  if f[1] == 'queued' and f[2] == ARGV[2] then return {'queued', 0} end
  return {'stale', 0}
end
local pause = tonumber(ARGV[7])
if ARGV[3] ~= '' then
  local n = redis.call('HINCRBY', record_key(id), ARGV[3], 1)
  if n > tonumber(ARGV[4]) then
    fail(id, tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[9], ARGV[10])
    return {'failed', 0}
  end
  pause = math.min(pause * 2 ^ (n - 1), tonumber(ARGV[8]))
end
requeue(id, tonumber(ARGV[6]), now + pause)
return {'queued', math.floor(pause)}
