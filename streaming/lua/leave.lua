-- leave: a worker goes; what was assigned to it goes back to the queue.
-- ARGV: worker queue_ms
for _, id in ipairs(redis.call('SMEMBERS', slots_key(ARGV[1]))) do
  local f = redis.call('HMGET', record_key(id), 's', 'w')
  if f[1] == 'assigned' and f[2] == ARGV[1] then unassign(id, ARGV[1], tonumber(ARGV[2])) end
end
redis.call('DEL', slots_key(ARGV[1]), worker_key(ARGV[1]))
redis.call('ZREM', workers_key, ARGV[1])
return 'gone'
