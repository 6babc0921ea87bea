-- resign: this process ends; it gives the reaper's lock up, if it holds it.
-- ARGV: owner
redis.call('ZREM', P .. ':up', ARGV[1])
if redis.call('GET', P .. ':reaper') == ARGV[1] then redis.call('DEL', P .. ':reaper') end
return 0
