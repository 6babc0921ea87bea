-- batch_put: a batch begins, unless its tenant has its maximum of those that have not ended, or an equal request made it before.
-- ARGV: id tenant document open_max fingerprint idempotency retry idempotency_ms dedupe_ms
-- Answers 'made' and the time, 'replay' with id and record, 'mismatch', 'full' or 'taken'.
local id, tenant, fingerprint, idempotency = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local key, open = P .. ':b:' .. id, P .. ':bo:' .. tenant
local holder = redis.call('HMGET', key, 't', 'c')
if holder[1] then -- the connection broke after the script had run, and the client sent it again
  if holder[1] ~= tenant then return {'taken'} end
  return {'made', holder[2]}
end
local seen_key, keep = P .. ':bi:' .. tenant .. ':' .. idempotency, ARGV[8]
if idempotency == '' then seen_key, keep = P .. ':bd:' .. tenant .. ':' .. fingerprint, ARGV[9] end
if idempotency ~= '' or ARGV[7] == '1' then
  local first, print = string.match(redis.call('GET', seen_key) or '', '^(%S+) (%S*)$')
  if first and redis.call('EXISTS', P .. ':b:' .. first) == 1 then
    if print ~= fingerprint then return {'mismatch'} end
    return {'replay', first, redis.call('HGETALL', P .. ':b:' .. first)}
  end
end
if redis.call('SCARD', open) >= tonumber(ARGV[4]) then return {'full'} end
redis.call('HSET', key, 't', tenant, 'c', int(now), 's', 'validating', 'doc', ARGV[3], 'n', 0)
redis.call('SADD', open, id)
redis.call('ZADD', P .. ':bt:' .. tenant, 0, id)
redis.call('ZADD', P .. ':bq', int(now), id)
redis.call('SET', seen_key, id .. ' ' .. fingerprint, 'PX', keep)
return {'made', int(now)}
