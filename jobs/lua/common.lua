-- Shared by every script: the names of keys, the clock, and the few moves that more than one script makes.
-- Key names are those of keys.go. Times are milliseconds by the clock of Redis, but for the scores of queues: microseconds, so that no two jobs tie.
local P = KEYS[1]
local time = redis.call('TIME')
local now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(now_us / 1000)

local function int(n) return string.format('%.0f', n) end
local function record_key(id) return P .. ':j:' .. id end
local function queued_key(pipeline) return P .. ':q:' .. pipeline end
local function running_key(pipeline) return P .. ':r:' .. pipeline end
local function tenant_key(tenant) return P .. ':t:' .. tenant end
local function lane_key(pipeline, tenant) return P .. ':l:' .. pipeline .. ':' .. tenant end
local function turns_key(pipeline) return P .. ':turns:' .. pipeline end
local function limited_key(tenant) return P .. ':u:' .. tenant end
local outbox_key = P .. ':outbox'
local expiry_key = P .. ':expiry'

-- changed nudges those who watch a job, stop the worker that runs it.
local function changed(id) redis.call('PUBLISH', P .. ':changed', id) end
local function stop(id) redis.call('PUBLISH', P .. ':stop', id) end

-- count keeps the totals since the database was made.
local function count(what) redis.call('HINCRBY', P .. ':totals', what, 1) end

-- toss hands object keys (one a line) to the janitor, at the earliest at due.
local function toss(id, keys, due)
  if keys and keys ~= '' then redis.call('ZADD', P .. ':garbage', int(due), int(due) .. '\n' .. id .. '\n' .. keys) end
end

-- toss_attempt tosses what an attempt wrote: at once, and again when even a frozen worker is done writing.
local function toss_attempt(id, keys, zombie_ms)
  toss(id, keys, now)
  toss(id, keys, now + zombie_ms)
end

-- to_back gives a tenant the last turn.
local function to_back(pipeline, tenant)
  local last = redis.call('ZREVRANGE', turns_key(pipeline), 0, 0, 'WITHSCORES')
  redis.call('ZADD', turns_key(pipeline), int((tonumber(last[2]) or 0) + 1), tenant)
end

-- enlane lets a queued job wait for its tenant's turn. One that ran before goes first in its lane, and its tenant has the next turn: it has waited once already.
local AGAIN_US = 1e15
local function enlane(id, pipeline, tenant, attempt, offset)
  local score = (tonumber(redis.call('ZSCORE', queued_key(pipeline), id)) or now_us) + (tonumber(offset) or 0)
  if attempt ~= '0' then
    score = score - AGAIN_US
    local first = redis.call('ZRANGE', turns_key(pipeline), 0, 0, 'WITHSCORES')
    if first[1] ~= tenant then redis.call('ZADD', turns_key(pipeline), int((tonumber(first[2]) or 1) - 1), tenant) end
  elseif not redis.call('ZSCORE', turns_key(pipeline), tenant) then
    to_back(pipeline, tenant)
  end
  redis.call('ZADD', lane_key(pipeline, tenant), int(score), id)
end

-- unlane takes a job out of its lane, and its tenant's turn with the last one.
local function unlane(id, pipeline, tenant)
  redis.call('ZREM', lane_key(pipeline, tenant), id)
  if redis.call('EXISTS', lane_key(pipeline, tenant)) == 0 then redis.call('ZREM', turns_key(pipeline), tenant) end
end

-- store_more counts bytes that a tenant has in the artifact store; the record that owns them remembers how many it added.
local function store_more(tenant, bytes)
  bytes = tonumber(bytes) or 0
  if bytes ~= 0 and redis.call('HINCRBY', P .. ':stored', tenant, int(bytes)) <= 0 then redis.call('HDEL', P .. ':stored', tenant) end
end

-- unqueue takes a job out of everything that leads to a run or counts as one.
local function unqueue(id, pipeline, tenant, attempt)
  redis.call('ZREM', queued_key(pipeline), id)
  redis.call('ZREM', running_key(pipeline), id)
  redis.call('ZREM', outbox_key, id .. ':' .. attempt)
  redis.call('SREM', limited_key(tenant), id)
  unlane(id, pipeline, tenant)
end

-- The keys of webhooks: an endpoint, what it has to send by the time it is due, and one delivery, which is one event for one endpoint.
local function hook_key(endpoint) return P .. ':h:' .. endpoint end
local function due_key(endpoint) return P .. ':hq:' .. endpoint end
local function flying_key(endpoint) return P .. ':hf:' .. endpoint end
local function history_key(endpoint) return P .. ':hl:' .. endpoint end
local function delivery_key(endpoint, event) return P .. ':hd:' .. endpoint .. ':' .. event end
local deliveries_keep_ms = 7 * 24 * 3600 * 1000

-- plan notes when an endpoint has something to send next; never while it is off.
local function plan(endpoint)
  local first = redis.call('ZRANGE', due_key(endpoint), 0, 0, 'WITHSCORES')
  local f = redis.call('HMGET', hook_key(endpoint), 'c', 'off', 'pu')
  if first[1] and f[1] and not f[2] then
    redis.call('ZADD', P .. ':hnext', int(math.max(tonumber(first[2]), tonumber(f[3] or 0))), endpoint)
  else
    redis.call('ZREM', P .. ':hnext', endpoint)
  end
end

-- announce queues an event, which a subject has once, for every endpoint of its tenant that wants the type. It is called where the event happens, in the same script, so
-- that neither can be without the other. The event's id is the subject's with another prefix.
local function announce(tenant, kind, subject, code, message)
  local event = 'evt_' .. string.match(subject, '(%w+)$')
  local any = false
  for _, endpoint in ipairs(redis.call('ZRANGE', P .. ':ht:' .. tenant, 0, -1)) do
    local f = redis.call('HMGET', hook_key(endpoint), 'ev', 'off')
    if f[1] and not f[2] and string.find(f[1], ',' .. kind .. ',', 1, true) then
      local key = delivery_key(endpoint, event)
      redis.call('HSET', key, 'ty', kind, 'sub', subject, 'c', int(now), 's', 'pending', 'n', 0)
      if code then redis.call('HSET', key, 'ec', code, 'em', message) end
      redis.call('ZADD', due_key(endpoint), int(now), event)
      for _, old in ipairs(redis.call('ZRANGE', history_key(endpoint), 0, 1)) do
        if redis.call('EXISTS', delivery_key(endpoint, old)) == 0 then redis.call('ZREM', history_key(endpoint), old) end
      end
      redis.call('ZADD', history_key(endpoint), int(now), event)
      redis.call('PEXPIRE', history_key(endpoint), deliveries_keep_ms)
      plan(endpoint)
      any = true
    end
  end
  if any then redis.call('PUBLISH', P .. ':hwake', '') end
end

-- fail ends a job as failed. The caller has checked the fence.
local function fail(id, retention_ms, zombie_ms, code, message)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 'a', 'sk', 's', 't')
  redis.call('HSET', key, 's', 'failed', 'fin', int(now), 'exp', int(now + retention_ms), 'ec', code, 'em', message)
  redis.call('HINCRBY', key, 'r', 1)
  redis.call('HDEL', key, 'own', 'ph', 'sk', 'du')
  unqueue(id, f[1], f[5], f[2])
  redis.call('ZADD', expiry_key, int(now + retention_ms), id)
  if f[4] == 'in_progress' then toss_attempt(id, f[3], zombie_ms) else toss(id, f[3], now) end
  count(code == 'cancelled' and 'cancelled' or 'failed')
  announce(f[5], 'video.failed', id, code, message)
  changed(id)
end

-- requeue puts a running job back, for a new attempt. The outbox holds it until its ticket is out, which is not before due; nor is its turn.
local function requeue(id, zombie_ms, due)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 'a', 'sk', 'c', 't', 'y')
  redis.call('HSET', key, 's', 'queued', 'qa', int(now), 'pr', 0)
  redis.call('HINCRBY', key, 'r', 1)
  redis.call('HDEL', key, 'own', 'ph', 'sk', 'st')
  redis.call('ZREM', running_key(f[1]), id)
  redis.call('SREM', limited_key(f[5]), id)
  redis.call('ZADD', queued_key(f[1]), int(tonumber(f[4]) * 1000), id)
  redis.call('ZADD', outbox_key, int(due), id .. ':' .. f[2])
  if due > now then redis.call('HSET', key, 'du', int(due)) else enlane(id, f[1], f[5], f[2], f[6]) end
  toss_attempt(id, f[3], zombie_ms)
  changed(id)
end

-- forget removes a record and every trace of it but its objects, which become garbage.
local function forget(id, zombie_ms)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 't', 'a', 's', 'sk', 'ik', 'b')
  redis.call('DEL', key)
  redis.call('ZREM', tenant_key(f[2]), id)
  redis.call('ZREM', expiry_key, id)
  unqueue(id, f[1], f[2], f[3])
  store_more(f[2], -(tonumber(f[7]) or 0))
  if f[4] == 'in_progress' then
    toss_attempt(id, f[5], zombie_ms)
    stop(id)
  else
    toss(id, f[5], now)
  end
  toss(id, f[6], now)
  changed(id)
end

-- live says whether there is a record whose retention is not over.
local function live(id)
  local f = redis.call('HMGET', record_key(id), 'c', 'exp')
  return f[1] and not (f[2] and tonumber(f[2]) <= now)
end

-- owns says whether an attempt holds a job.
local function owns(id, attempt)
  local f = redis.call('HMGET', record_key(id), 's', 'a')
  return f[1] == 'in_progress' and f[2] == attempt
end
