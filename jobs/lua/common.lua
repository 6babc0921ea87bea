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

-- unqueue takes a job out of everything that leads to a run.
local function unqueue(id, pipeline, attempt)
  redis.call('ZREM', queued_key(pipeline), id)
  redis.call('ZREM', running_key(pipeline), id)
  redis.call('ZREM', outbox_key, id .. ':' .. attempt)
end

-- fail ends a job as failed. The caller has checked the fence.
local function fail(id, retention_ms, zombie_ms, code, message)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 'a', 'sk', 's')
  redis.call('HSET', key, 's', 'failed', 'fin', int(now), 'exp', int(now + retention_ms), 'ec', code, 'em', message)
  redis.call('HINCRBY', key, 'r', 1)
  redis.call('HDEL', key, 'own', 'ph', 'sk')
  unqueue(id, f[1], f[2])
  redis.call('ZADD', expiry_key, int(now + retention_ms), id)
  if f[4] == 'in_progress' then toss_attempt(id, f[3], zombie_ms) else toss(id, f[3], now) end
  count(code == 'cancelled' and 'cancelled' or 'failed')
  changed(id)
end

-- requeue puts a running job back, for a new attempt. The outbox holds it until its ticket is out, which is not before due.
local function requeue(id, zombie_ms, due)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 'a', 'sk', 'c')
  redis.call('HSET', key, 's', 'queued', 'qa', int(now), 'pr', 0)
  redis.call('HINCRBY', key, 'r', 1)
  redis.call('HDEL', key, 'own', 'ph', 'sk', 'st')
  redis.call('ZREM', running_key(f[1]), id)
  redis.call('ZADD', queued_key(f[1]), int(tonumber(f[4]) * 1000), id)
  redis.call('ZADD', outbox_key, int(due), id .. ':' .. f[2])
  toss_attempt(id, f[3], zombie_ms)
  changed(id)
end

-- forget removes a record and every trace of it but its objects, which become garbage.
local function forget(id, zombie_ms)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 't', 'a', 's', 'sk', 'ik')
  redis.call('DEL', key)
  redis.call('ZREM', tenant_key(f[2]), id)
  redis.call('ZREM', expiry_key, id)
  unqueue(id, f[1], f[3])
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
