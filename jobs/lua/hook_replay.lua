-- hook_replay: a delivery that has ended begins anew, with its whole schedule.
-- ARGV: id tenant event
local f = redis.call('HMGET', hook_key(ARGV[1]), 't', 'off')
local key = delivery_key(ARGV[1], ARGV[3])
if f[1] ~= ARGV[2] or redis.call('EXISTS', key) == 0 then return 'missing' end
if f[2] then return 'off' end
if redis.call('HGET', key, 's') == 'pending' then return 'pending' end
redis.call('HSET', key, 's', 'pending', 'n', 0)
redis.call('PERSIST', key)
redis.call('ZADD', due_key(ARGV[1]), int(now), ARGV[3])
redis.call('PEXPIRE', history_key(ARGV[1]), deliveries_keep_ms)
redis.call('HDEL', hook_key(ARGV[1]), 'pu')
plan(ARGV[1])
redis.call('PUBLISH', P .. ':hwake', '')
return 'ok'
