-- claim: a worker takes the session that waits for it, or the head of the queue when it has a slot. The epoch begins.
-- ARGV: worker pipeline lease_ms controller_ms
local worker, pipeline = ARGV[1], ARGV[2]
local slots = slots_key(worker)
local f = redis.call('HMGET', worker_key(worker), 's', 'n')
if f[1] ~= 'ready' then return {'none'} end

local id
for _, held in ipairs(redis.call('SMEMBERS', slots)) do
  local h = redis.call('HMGET', record_key(held), 's', 'w')
  if h[1] == 'assigned' and h[2] == worker then id = held break end
end
if not id and redis.call('SCARD', slots) < tonumber(f[2]) then id = redis.call('ZRANGE', queue_key(pipeline), 0, 0)[1] end
if not id then return {'none'} end

local key = record_key(id)
local waited = now - tonumber(redis.call('HGET', key, 'u'))
undue(id)
redis.call('ZREM', queue_key(pipeline), id)
redis.call('SADD', slots, id)
redis.call('HSET', key, 's', 'joining_room', 'w', worker, 'u', int(now))
redis.call('HINCRBY', key, 'e', 1)
if redis.call('HSETNX', key, 'st', int(now)) == 1 then
  local ends = int(now + tonumber(redis.call('HGET', key, 'sms')))
  redis.call('HSET', key, 'x', ends)
  redis.call('ZADD', due_key('session'), ends, id)
end
redis.call('ZADD', leases_key, int(now + tonumber(ARGV[3])), id)
redis.call('ZADD', due_key('controller'), int(now + tonumber(ARGV[4])), id)
controlled(id)
return {'claimed', id, answer(id), waited}
