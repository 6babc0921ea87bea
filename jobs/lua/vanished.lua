-- vanished: forgets the processes that are up no more and did not say that they end, and answers which.
local gone = redis.call('ZRANGEBYSCORE', P .. ':up', '-inf', int(now))
for _, owner in ipairs(gone) do redis.call('ZREM', P .. ':up', owner) end
return gone
