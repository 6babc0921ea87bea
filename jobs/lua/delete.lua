-- delete: the record goes, in any state.
-- ARGV: id tenant zombie_ms
local f = redis.call('HMGET', record_key(ARGV[1]), 't', 'exp')
if f[1] ~= ARGV[2] then return {} end
if f[2] and tonumber(f[2]) <= now then
  forget(ARGV[1], tonumber(ARGV[3]))
  return {}
end
local fields = redis.call('HGETALL', record_key(ARGV[1]))
forget(ARGV[1], tonumber(ARGV[3]))
return fields
