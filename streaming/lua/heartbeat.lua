-- heartbeat: a worker is up, and so are the sessions that it runs. Answers those that are not its own (any more): id, epoch, status, reason.
-- ARGV: worker pipeline slots status devices worker_ms lease_ms queue_ms (id epoch)...
local worker, pipeline = ARGV[1], ARGV[2]
local slots = slots_key(worker)
redis.call('HSET', worker_key(worker), 'p', pipeline, 'n', ARGV[3], 's', ARGV[4], 'd', ARGV[5])
redis.call('ZADD', workers_key, int(now + tonumber(ARGV[6])), worker)
redis.call('ZADD', pipelines_key, int(now), pipeline)
local held, lost = {}, {}
for i = 9, #ARGV, 2 do
  local id, epoch = ARGV[i], ARGV[i + 1]
  held[id] = true
  redis.call('SADD', slots, id)
  local f = redis.call('HMGET', record_key(id), 's', 'e', 'w', 'rs')
  if owns(f, epoch, worker) then
    redis.call('ZADD', leases_key, int(now + tonumber(ARGV[7])), id)
  else
    for _, v in ipairs({id, epoch, f[1] or '', f[4] or ''}) do lost[#lost + 1] = v end
  end
end
for _, id in ipairs(redis.call('SMEMBERS', slots)) do
  if not held[id] then
    local f = redis.call('HMGET', record_key(id), 's', 'w')
    if not f[1] or terminal(f[1]) or f[2] ~= worker then
      redis.call('SREM', slots, id)
    elseif f[1] == 'assigned' and ARGV[4] ~= 'ready' then
      unassign(id, worker, tonumber(ARGV[8]))
    end
  end
end
return lost
