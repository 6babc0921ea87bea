-- Shared by every script: the names of keys, the clock, and the few moves that more than one script makes. Key names are those of keys.go. Times are
-- milliseconds by the clock of Redis, but for the scores of queues: microseconds, so that no two sessions tie.
local L = KEYS[1] .. ':live'
local time = redis.call('TIME')
local now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(now_us / 1000)

local function int(n) return string.format('%.0f', n) end
local function record_key(id) return L .. ':s:' .. id end
local function queue_key(pipeline) return L .. ':q:' .. pipeline end
local function tenant_key(tenant) return L .. ':t:' .. tenant end
local function open_key(tenant) return L .. ':o:' .. tenant end
local function worker_key(worker) return L .. ':w:' .. worker end
local function slots_key(worker) return L .. ':ws:' .. worker end
local function due_key(kind) return L .. ':due:' .. kind end
local leases_key = L .. ':leases'
local workers_key = L .. ':workers'
local pipelines_key = L .. ':pipelines'
local all_key = L .. ':all'
local on_key = L .. ':on'
local rooms_key = L .. ':rooms'

-- wake nudges the workers of a pipeline: there is a session to claim. stop nudges the owner of a session: it is no longer its own.
local function wake(pipeline) redis.call('PUBLISH', L .. ':events', 'wake ' .. pipeline) end
local function stop(id) redis.call('PUBLISH', L .. ':events', 'stop ' .. id) end

local function terminal(status) return status == 'closed' or status == 'failed' or status == 'expired' end

-- owns says whether an epoch of a worker runs a session.
local function owns(f, epoch, worker)
  return f[1] and f[2] == epoch and f[3] == worker and f[1] ~= 'queued' and f[1] ~= 'assigned' and not terminal(f[1])
end

-- undue forgets the deadlines that hold while somebody owns a session, or while nobody does.
local function undue(id)
  for _, kind in ipairs({'controller', 'room', 'control', 'queue', 'reassign'}) do redis.call('ZREM', due_key(kind), id) end
  redis.call('ZREM', leases_key, id)
  redis.call('SREM', on_key, id)
end

-- finish ends a session. The caller has checked the fence. A slot that nobody uses yet is free at once; one in use is when its owner lets go.
local function finish(id, status, reason, message, retention_ms, room_ms)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 's', 't', 'p', 'w', 'room')
  redis.call('HSET', key, 's', status, 'rs', reason, 'msg', message, 'fin', int(now), 'u', int(now))
  redis.call('HDEL', key, 'state', 'pc')
  undue(id)
  redis.call('ZREM', due_key('session'), id)
  redis.call('ZREM', queue_key(f[3]), id)
  redis.call('SREM', open_key(f[2]), id)
  redis.call('ZADD', due_key('gone'), int(now + retention_ms), id)
  if f[1] == 'assigned' then redis.call('SREM', slots_key(f[4]), id) end
  local unclaimed = f[1] == 'assigned' or f[1] == 'queued'
  redis.call('ZADD', rooms_key, int(unclaimed and now or now + room_ms), f[5])
  stop(id)
  wake(f[3])
end

-- requeue puts a session back to where it stood in the queue. kind is the deadline that now runs.
local function requeue(id, kind, wait_ms)
  local key = record_key(id)
  local f = redis.call('HMGET', key, 'p', 'cu')
  redis.call('HSET', key, 's', 'queued', 'u', int(now))
  redis.call('HDEL', key, 'w', 'pc', 'jn')
  undue(id)
  redis.call('ZADD', queue_key(f[1]), f[2], id)
  redis.call('ZADD', due_key(kind), int(now + wait_ms), id)
  stop(id)
  wake(f[1])
end

-- unassign takes a session back from a worker that has not claimed it.
local function unassign(id, worker, queue_ms)
  redis.call('SREM', slots_key(worker), id)
  requeue(id, 'queue', queue_ms)
end

-- carries says whether another owner can go on with a session: nothing was shown yet, or its state is kept.
local function carries(id)
  local f = redis.call('HMGET', record_key(id), 'ff', 'state')
  return not f[1] or (f[2] and f[2] ~= '')
end

-- controlled starts the time without a message of the controller anew, where it is limited.
local function controlled(id)
  local ms = tonumber(redis.call('HGET', record_key(id), 'cms') or 0)
  if ms > 0 then redis.call('ZADD', due_key('control'), int(now + ms), id) end
end

-- answer is a record as scripts give it out: its fields and its 0-based place in the queue, -1 when it does not wait.
local function answer(id)
  local key = record_key(id)
  local pipeline = redis.call('HGET', key, 'p')
  if not pipeline then return {} end
  local rank = redis.call('ZRANK', queue_key(pipeline), id)
  return {redis.call('HGETALL', key), rank or -1}
end
