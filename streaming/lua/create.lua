-- create: one session, assigned to the least loaded worker when a slot is free and nobody waits, else queued.
-- ARGV: id tenant pipeline spec room session_ms queue_max tenant_max queue_ms lease_ms pipeline_ms control_ms
local id, tenant, pipeline, spec, room = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local queue_max, tenant_max, queue_ms = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local lease_ms, pipeline_ms = tonumber(ARGV[10]), tonumber(ARGV[11])
local key, queue = record_key(id), queue_key(pipeline)

local holder = redis.call('HMGET', key, 't', 'spec', 'room')
if holder[1] then -- perhaps the connection broke after the script had run, and the client sent it again
  if holder[1] == tenant and holder[2] == spec and holder[3] == room then return {'made', answer(id)} end
  return {'exists'}
end
if redis.call('SCARD', open_key(tenant)) >= tenant_max then return {'tenant'} end

local best, best_load, best_busy
local waiting = redis.call('ZCARD', queue)
if waiting == 0 then
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers_key, '(' .. int(now), '+inf')) do
    local f = redis.call('HMGET', worker_key(worker), 'p', 's', 'n')
    local slots, busy = tonumber(f[3] or 0), redis.call('SCARD', slots_key(worker))
    if f[1] == pipeline and f[2] == 'ready' and busy < slots then
      local load = busy / slots
      if not best or load < best_load or (load == best_load and (busy < best_busy or (busy == best_busy and worker < best))) then
        best, best_load, best_busy = worker, load, busy
      end
    end
  end
end
if not best then
  local seen = redis.call('ZSCORE', pipelines_key, pipeline)
  if not seen or now - tonumber(seen) > pipeline_ms then return {'capacity'} end
  if queue_max <= 0 then return {'idle'} end
  if waiting >= queue_max then return {'full'} end
end

redis.call('HSET', key, 'v', 1, 't', tenant, 'p', pipeline, 's', 'queued', 'e', 0, 'room', room, 'spec', spec, 'sms', ARGV[6], 'cms', ARGV[12],
  'c', int(now), 'cu', int(now_us), 'u', int(now))
redis.call('ZADD', tenant_key(tenant), int(now_us), id)
redis.call('ZADD', all_key, int(now_us), id)
redis.call('SADD', open_key(tenant), id)
if best then
  redis.call('HSET', key, 's', 'assigned', 'w', best)
  redis.call('SADD', slots_key(best), id)
  redis.call('ZADD', leases_key, int(now + lease_ms), id)
else
  redis.call('ZADD', queue, int(now_us), id)
  redis.call('ZADD', due_key('queue'), int(now + queue_ms), id)
end
wake(pipeline)
return {'made', answer(id)}
