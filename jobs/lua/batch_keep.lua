-- batch_keep: its holder is alive, and finds out whether it still is the holder of a batch that nobody cancelled.
-- ARGV: id fence status lease_ms
local f = redis.call('HMGET', P .. ':b:' .. ARGV[1], 'n', 's')
if f[1] ~= ARGV[2] or f[2] ~= ARGV[3] then return 'stale' end
redis.call('ZADD', P .. ':bq', int(now + tonumber(ARGV[4])), ARGV[1])
return 'ok'
