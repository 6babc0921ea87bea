-- hook_reseal: the same secret under another key, unless it has changed since it was read.
-- ARGV: id field before after
local secrets = P .. ':hs:' .. ARGV[1]
if redis.call('HGET', secrets, ARGV[2]) ~= ARGV[3] then return 'changed' end
redis.call('HSET', secrets, ARGV[2], ARGV[4])
return 'ok'
