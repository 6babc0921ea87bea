-- hook_settle: what came of a delivery that a sender had.
-- ARGV: endpoint event nonce outcome status reason next_ms pause_ms bad_max pause_max_ms
-- The outcomes: delivered; retry, after next_ms; failed, for good; gone, for good and with its endpoint. A pause keeps the whole endpoint quiet.
local endpoint, event, outcome = ARGV[1], ARGV[2], ARGV[4]
local key, hook = delivery_key(endpoint, event), hook_key(endpoint)
local d = redis.call('HMGET', key, 's', 'tok')
if d[1] ~= 'pending' or d[2] ~= ARGV[3] then return 'stale' end
redis.call('HINCRBY', key, 'n', 1)
redis.call('HSET', key, 'code', ARGV[5], 'why', ARGV[6], 'at', int(now))
redis.call('HDEL', key, 'tok')
redis.call('ZREM', flying_key(endpoint), event)
if outcome == 'retry' then
  redis.call('ZADD', due_key(endpoint), int(now + tonumber(ARGV[7])), event)
else
  redis.call('HSET', key, 's', outcome == 'delivered' and 'delivered' or 'failed')
  redis.call('ZREM', due_key(endpoint), event)
  redis.call('PEXPIRE', key, deliveries_keep_ms)
end
redis.call('PEXPIRE', history_key(endpoint), deliveries_keep_ms)
if redis.call('EXISTS', hook) == 1 then
  if outcome == 'delivered' then
    redis.call('HDEL', hook, 'bad', 'pu')
  elseif outcome == 'gone' then
    redis.call('HSET', hook, 'off', int(now))
    redis.call('SADD', P .. ':hgone', endpoint)
  else
    local bad, pause = redis.call('HINCRBY', hook, 'bad', 1), tonumber(ARGV[8])
    if bad >= tonumber(ARGV[9]) then pause = math.max(pause, math.min(1000 * 2 ^ math.min(bad, 20), tonumber(ARGV[10]))) end
    if pause > 0 then redis.call('HSET', hook, 'pu', int(now + pause)) end
  end
end
plan(endpoint)
return 'ok'
