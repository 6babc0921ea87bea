-- hand_over: the owner gives its session to another, or ends it when nobody could go on. charge is 1 when an engine died of it, perhaps.
-- ARGV: id epoch worker state facts charge deaths_max reassign_ms retention_ms room_ms reason message
local id = ARGV[1]
local key = record_key(id)
local f = redis.call('HMGET', key, 's', 'e', 'w')
if not owns(f, ARGV[2], ARGV[3]) then return 'stale' end
if ARGV[4] ~= '' then redis.call('HSET', key, 'state', ARGV[4]) end
redis.call('HSET', key, 'facts', ARGV[5])
local deaths = redis.call('HINCRBY', key, 'd', tonumber(ARGV[6]))
if not carries(id) or deaths >= tonumber(ARGV[7]) then
  finish(id, ARGV[11] == 'drained' and 'closed' or 'failed', ARGV[11], ARGV[12], tonumber(ARGV[9]), tonumber(ARGV[10]))
  return 'closed'
end
redis.call('HSET', key, 'rqr', ARGV[11])
requeue(id, 'reassign', tonumber(ARGV[8]))
return 'queued'
