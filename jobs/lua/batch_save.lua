-- batch_save: what its holder says of a batch, if it is still its holder and the status is the one that it knows. Webhooks are told of its end.
-- ARGV: id fence from to document due_ms keep_ms, then line and text of each that has news. A due of -1 keeps the lease; a keep of 0 or more ends the batch, whose record then stays that long.
local id = ARGV[1]
local key, lines = P .. ':b:' .. id, P .. ':bl:' .. id
local f = redis.call('HMGET', key, 'n', 's', 't')
if f[1] ~= ARGV[2] or f[2] ~= ARGV[3] then return 'stale' end
redis.call('HSET', key, 's', ARGV[4], 'doc', ARGV[5])
for i = 8, #ARGV, 2 do redis.call('HSET', lines, ARGV[i], ARGV[i + 1]) end
local due, keep = tonumber(ARGV[6]), tonumber(ARGV[7])
if keep >= 0 then
  redis.call('ZREM', P .. ':bq', id)
  redis.call('SREM', P .. ':bo:' .. f[3], id)
  redis.call('DEL', lines)
  redis.call('PEXPIRE', key, keep)
  announce(f[3], 'batch.' .. ARGV[4], id)
elseif due >= 0 then
  redis.call('ZADD', P .. ':bq', int(now + due), id)
end
return 'ok'
