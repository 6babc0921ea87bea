-- create: one job, or the one that an equal request made before.
-- ARGV: id tenant pipeline spec version fingerprint idempotency retry queued_max idempotency_ms dedupe_ms staged_count staged... acknowledged...
local id, tenant, pipeline, spec, version = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local fingerprint, idempotency, retry = ARGV[6], ARGV[7], ARGV[8]
local queued_max, idempotency_ms, dedupe_ms = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local staged_count = tonumber(ARGV[12])

local key = record_key(id)
local holder = redis.call('HMGET', key, 't', 'c')
if holder[1] then -- the connection broke after the script had run, and the client sent it again
  if holder[1] ~= tenant then return {'taken'} end
  return {'made', holder[2]}
end

local idempotency_key = P .. ':i:' .. tenant .. ':' .. idempotency
if idempotency ~= '' then
  local seen = redis.call('GET', idempotency_key)
  if seen then
    local first, print = string.match(seen, '^(%S+) (%S*)$')
    if live(first) then
      if print ~= fingerprint then return {'mismatch'} end
      return {'replay', first, redis.call('HGETALL', record_key(first))}
    end
  end
end

local bucket = math.floor(now / dedupe_ms)
if idempotency == '' and retry == '1' then
  for b = bucket, bucket - 1, -1 do
    local first = redis.call('HGET', P .. ':d:' .. tenant .. ':' .. int(b), fingerprint)
    local created = first and live(first) and redis.call('HGET', record_key(first), 'c')
    if created and now - tonumber(created) <= dedupe_ms then
      return {'replay', first, redis.call('HGETALL', record_key(first))}
    end
  end
end

if redis.call('ZCARD', queued_key(pipeline)) >= queued_max then return {'full'} end
local staged = {}
for i = 13, 12 + staged_count do
  if not redis.call('ZSCORE', P .. ':staged', ARGV[i]) then return {'unstaged'} end
  staged[#staged + 1] = ARGV[i]
end

redis.call('HSET', key, 'v', version, 't', tenant, 'p', pipeline, 's', 'queued', 'a', 0, 'c', int(now), 'spec', spec)
-- After the first HSET: a full Redis stops a script only before its first write.
for i = 13 + staged_count, #ARGV do redis.call('ZREM', outbox_key, ARGV[i]) end
redis.call('ZADD', queued_key(pipeline), int(now_us), id)
redis.call('ZADD', tenant_key(tenant), 0, id)
redis.call('ZADD', outbox_key, int(now), id .. ':0')
redis.call('SADD', P .. ':pipelines', pipeline)
if staged_count > 0 then
  redis.call('HSET', key, 'ik', table.concat(staged, '\n'))
  for _, k in ipairs(staged) do redis.call('ZREM', P .. ':staged', k) end
end
if idempotency ~= '' then
  redis.call('SET', idempotency_key, id .. ' ' .. fingerprint, 'PX', idempotency_ms)
elseif fingerprint ~= '' then
  local dedupe_key = P .. ':d:' .. tenant .. ':' .. int(bucket)
  redis.call('HSET', dedupe_key, fingerprint, id)
  redis.call('PEXPIRE', dedupe_key, 2 * dedupe_ms)
end
count('created')
return {'made', int(now)}
