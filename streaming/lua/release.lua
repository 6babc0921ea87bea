-- release: a worker's slot is empty again, unless a newer epoch of the same session is in it.
-- ARGV: worker pipeline id epoch
local f = redis.call('HMGET', record_key(ARGV[3]), 's', 'e', 'w')
if f[1] and f[3] == ARGV[1] and not terminal(f[1]) and (f[1] == 'assigned' or tonumber(f[2]) > tonumber(ARGV[4])) then return 'kept' end
redis.call('SREM', slots_key(ARGV[1]), ARGV[3])
wake(ARGV[2])
return 'free'
