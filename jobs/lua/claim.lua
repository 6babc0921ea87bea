-- claim: the job whose turn it is begins. The ticket that woke the worker up only says that there is work; its own job is put into its lane where it stands in none: it
-- rested after an earlier attempt, or was made by a version that knew no lanes. The nonce tells a second sending of this call from a second ticket.
-- ARGV: ticket_id ticket_attempt owner lease_ms version pipeline nonce
-- Answers 'claimed', id and record, or 'stale' when nothing may begin, or 'newer' when only records of a newer version could.
local owner, lease, version, pipeline = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local nonce_key = P .. ':n:' .. ARGV[7]
local NEWER_MAX = 64

local mine = redis.call('GET', nonce_key)
if mine then
  local id, attempt = string.match(mine, '^(%S+) (%d+)$')
  if not owns(id, attempt) then return {'stale'} end
  return {'claimed', id, redis.call('HGETALL', record_key(id))}
end

if ARGV[1] ~= '' then
  local f = redis.call('HMGET', record_key(ARGV[1]), 's', 'p', 'a', 't', 'y')
  if f[1] == 'queued' and f[2] == pipeline and f[3] == ARGV[2] and not redis.call('ZSCORE', lane_key(pipeline, f[4]), ARGV[1]) then
    enlane(ARGV[1], pipeline, f[4], f[3], f[5])
  end
end

-- at_limit says whether a tenant runs as many jobs as it may. Runs that a worker without limits ended are found out here.
local function at_limit(tenant)
  local max = tonumber(redis.call('HGET', P .. ':running_max', tenant))
  if not max or redis.call('SCARD', limited_key(tenant)) < max then return false, max end
  for _, id in ipairs(redis.call('SMEMBERS', limited_key(tenant))) do
    if redis.call('HGET', record_key(id), 's') ~= 'in_progress' then redis.call('SREM', limited_key(tenant), id) end
  end
  return redis.call('SCARD', limited_key(tenant)) >= max, max
end

-- next_of finds the first job of a lane that this worker can run, and drops those that wait no more: a worker without lanes took them.
local newer = false
local function next_of(tenant)
  local skipped = 0
  while skipped < NEWER_MAX do
    local ids = redis.call('ZRANGE', lane_key(pipeline, tenant), skipped, skipped + 15)
    if #ids == 0 then return nil end
    for _, id in ipairs(ids) do
      local f = redis.call('HMGET', record_key(id), 's', 'p', 'v', 'a')
      if f[1] ~= 'queued' or f[2] ~= pipeline then
        unlane(id, pipeline, tenant)
      elseif tonumber(f[3]) > version then
        newer, skipped = true, skipped + 1
      else
        return id, f[4]
      end
    end
  end
end

local function begin(id, attempt, tenant, limited)
  local key = record_key(id)
  unqueue(id, pipeline, tenant, attempt)
  if redis.call('ZSCORE', turns_key(pipeline), tenant) then to_back(pipeline, tenant) end
  redis.call('HSET', key, 's', 'in_progress', 'own', owner, 'st', int(now), 'pr', 0)
  redis.call('HDEL', key, 'du')
  local began = redis.call('HINCRBY', key, 'a', 1)
  redis.call('HINCRBY', key, 'r', 1)
  redis.call('ZADD', running_key(pipeline), int(now + lease), id)
  if limited then redis.call('SADD', limited_key(tenant), id) end
  redis.call('SET', nonce_key, id .. ' ' .. int(began), 'PX', int(lease))
  changed(id)
  return {'claimed', id, redis.call('HGETALL', key)}
end

local at = 0
while true do
  local tenants = redis.call('ZRANGE', turns_key(pipeline), at, at + 63)
  if #tenants == 0 then break end
  for _, tenant in ipairs(tenants) do
    local full, max = at_limit(tenant)
    if not full then
      local id, attempt = next_of(tenant)
      if id then return begin(id, attempt, tenant, max) end
    end
    if redis.call('EXISTS', lane_key(pipeline, tenant)) == 1 then at = at + 1 else redis.call('ZREM', turns_key(pipeline), tenant) end
  end
end
return {newer and 'newer' or 'stale'}
