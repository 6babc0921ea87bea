-- health: the workers that are up, how many sessions wait and how many have a publisher. ARGV: pipeline (empty: all)
local queued = 0
for _, pipeline in ipairs(redis.call('ZRANGE', pipelines_key, 0, -1)) do
  if ARGV[1] == '' or ARGV[1] == pipeline then queued = queued + redis.call('ZCARD', queue_key(pipeline)) end
end
local out = {queued, redis.call('SCARD', on_key)}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', workers_key, '(' .. int(now), '+inf')) do
  local f = redis.call('HMGET', worker_key(worker), 'p', 's', 'n', 'd')
  if ARGV[1] == '' or ARGV[1] == f[1] then
    for _, v in ipairs({worker, f[1], f[2], f[3], f[4], tostring(redis.call('SCARD', slots_key(worker)))}) do out[#out + 1] = v end
  end
end
return out
