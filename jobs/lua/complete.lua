-- complete: the attempt's result becomes the job's. What the attempt staged and does not keep becomes garbage.
-- ARGV: id attempt result kept_keys retention_ms bytes
local id = ARGV[1]
local key = record_key(id)
if not owns(id, ARGV[2]) then
  local f = redis.call('HMGET', key, 's', 'a')
  if f[1] == 'completed' and f[2] == ARGV[2] then return 'ok' end -- our own commit, whose answer was lost
  return 'stale'
end
local f = redis.call('HMGET', key, 'p', 'sk', 't')
local kept, dropped = {}, {}
for k in string.gmatch(ARGV[4], '[^\n]+') do kept[k] = true end
for k in string.gmatch(f[2] or '', '[^\n]+') do
  if not kept[k] then dropped[#dropped + 1] = k end
end
local expires = now + tonumber(ARGV[5])
redis.call('HSET', key, 's', 'completed', 'pr', 100, 'res', ARGV[3], 'sk', ARGV[4], 'fin', int(now), 'exp', int(expires))
redis.call('HINCRBY', key, 'r', 1)
redis.call('HDEL', key, 'own', 'ph')
redis.call('ZREM', running_key(f[1]), id)
redis.call('SREM', limited_key(f[3]), id)
redis.call('HSET', key, 'b', ARGV[6])
store_more(f[3], ARGV[6])
redis.call('ZADD', expiry_key, int(expires), id)
count('completed')
announce(f[3], 'video.completed', id)
toss(id, table.concat(dropped, '\n'), now)
changed(id)
return 'ok'
