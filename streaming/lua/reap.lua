-- reap: sessions whose lease ran out go to another worker where one could go on, else they end. Workers without a heartbeat are forgotten.
-- ARGV: limit deaths_max retention_ms room_ms reassign_ms queue_ms reason message
-- Answers a flat list of id, what became of it.
local out = {}
local function note(id, what) out[#out + 1] = id out[#out + 1] = what end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases_key, '-inf', int(now), 'LIMIT', 0, tonumber(ARGV[1]))) do
  local key = record_key(id)
  local f = redis.call('HMGET', key, 's', 'w')
  if not f[1] or terminal(f[1]) or f[1] == 'queued' then
    redis.call('ZREM', leases_key, id)
  elseif f[1] == 'assigned' then
    unassign(id, f[2], tonumber(ARGV[6]))
    note(id, 'queued')
  elseif redis.call('HINCRBY', key, 'd', 1) >= tonumber(ARGV[2]) or not carries(id) then
    finish(id, 'failed', ARGV[7], ARGV[8], tonumber(ARGV[3]), 0)
    note(id, 'failed')
  else
    redis.call('HSET', key, 'rqr', ARGV[7])
    requeue(id, 'reassign', tonumber(ARGV[5]))
    note(id, 'queued')
  end
end
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers_key, '-inf', int(now))) do
  redis.call('DEL', slots_key(worker), worker_key(worker))
  redis.call('ZREM', workers_key, worker)
end
return out
