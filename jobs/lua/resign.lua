-- resign: gives the reaper's lock up, if we hold it.
-- ARGV: owner
if redis.call('GET', P .. ':reaper') == ARGV[1] then redis.call('DEL', P .. ':reaper') end
return 0
