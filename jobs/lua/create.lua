-- create: one job, or the one that an equal request made before.
-- ARGV: id tenant pipeline spec version fingerprint idempotency retry queued_max idempotency_ms dedupe_ms
--   key offset_us lane_max lane_age_ms running_max work work_per_hour stored_max staged_count staged... acknowledged...
-- Limits of 0 are none. Refusals answer 'quota', which one it was, and in how many milliseconds it may be otherwise (0: unknown, -1: never).
local id, tenant, pipeline, spec, version = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local fingerprint, idempotency, retry = ARGV[6], ARGV[7], ARGV[8]
local queued_max, idempotency_ms, dedupe_ms = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local key_id, offset, lane_max, lane_age, running_max = ARGV[12], ARGV[13], tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[16]
local work, work_max, stored_max = tonumber(ARGV[17]), tonumber(ARGV[18]), tonumber(ARGV[19])
local FIXED, HOUR = 20, 3600000
local staged_count = tonumber(ARGV[FIXED])

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
if lane_max > 0 then
  local waiting = 0
  for _, p in ipairs(redis.call('SMEMBERS', P .. ':pipelines')) do waiting = waiting + redis.call('ZCARD', lane_key(p, tenant)) end
  if waiting >= lane_max then return {'quota', 'queued', 0} end
end
if lane_age > 0 then
  local first = redis.call('ZRANGE', lane_key(pipeline, tenant), 0, 0)[1]
  local since = first and tonumber(redis.call('HGET', record_key(first), 'c'))
  if since and now - since > lane_age then return {'quota', 'age', 0} end
end
if stored_max > 0 and tonumber(redis.call('HGET', P .. ':stored', tenant) or 0) >= stored_max then return {'quota', 'stored', 0} end
-- Work is let in at a steady rate, up to what an hour allows at once: busy_until is when all of it so far would be through.
local work_key, busy_until = P .. ':w:' .. key_id, now
if work_max > 0 then
  if work > work_max then return {'quota', 'work', -1} end
  busy_until = math.max(now, tonumber(redis.call('GET', work_key) or 0)) + work * HOUR / work_max
  if busy_until - now > HOUR then return {'quota', 'work', math.ceil(busy_until - now - HOUR)} end
end
local staged = {}
for i = FIXED + 1, FIXED + staged_count do
  if not redis.call('ZSCORE', P .. ':staged', ARGV[i]) then return {'unstaged'} end
  staged[#staged + 1] = ARGV[i]
end

redis.call('HSET', key, 'v', version, 't', tenant, 'p', pipeline, 's', 'queued', 'a', 0, 'c', int(now), 'spec', spec)
-- After the first HSET: a full Redis stops a script only before its first write.
for i = FIXED + 1 + staged_count, #ARGV do redis.call('ZREM', outbox_key, ARGV[i]) end
redis.call('ZADD', queued_key(pipeline), int(now_us), id)
if offset ~= '0' then redis.call('HSET', key, 'y', offset) end
enlane(id, pipeline, tenant, '0', offset)
redis.call('ZADD', tenant_key(tenant), 0, id)
if work_max > 0 then redis.call('SET', work_key, int(busy_until), 'PX', int(busy_until - now + 1)) end
local limit = redis.call('HGET', P .. ':running_max', tenant)
if running_max == '0' then
  if limit then redis.call('HDEL', P .. ':running_max', tenant) end
elseif limit ~= running_max then
  redis.call('HSET', P .. ':running_max', tenant, running_max)
end
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
