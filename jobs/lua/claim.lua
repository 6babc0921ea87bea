-- claim: the ticket's attempt begins, if the job still waits for it. The nonce tells a second sending of this call from a second ticket.
-- ARGV: id ticket_attempt owner lease_ms version pipeline nonce
local id, nonce = ARGV[1], ARGV[7]
local key = record_key(id)
local f = redis.call('HMGET', key, 's', 'a', 'v', 'p', 'n')
if f[1] == 'in_progress' and f[5] == nonce then return {'claimed', redis.call('HGETALL', key)} end
if f[1] ~= 'queued' or f[2] ~= ARGV[2] or f[4] ~= ARGV[6] then return {'stale'} end
if tonumber(f[3]) > tonumber(ARGV[5]) then return {'newer'} end
unqueue(id, f[4], f[2])
redis.call('HSET', key, 's', 'in_progress', 'own', ARGV[3], 'n', nonce, 'st', int(now), 'pr', 0)
redis.call('HINCRBY', key, 'a', 1)
redis.call('HINCRBY', key, 'r', 1)
redis.call('ZADD', running_key(f[4]), int(now + tonumber(ARGV[4])), id)
changed(id)
return {'claimed', redis.call('HGETALL', key)}
