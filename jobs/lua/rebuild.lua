-- rebuild: a completed record out of its manifest, unless it is there.
-- ARGV: id tenant pipeline spec version attempt created started completed expires result kept_keys input_keys bytes
local id = ARGV[1]
local key = record_key(id)
if redis.call('EXISTS', key) == 1 then return 'there' end
if tonumber(ARGV[10]) <= now then return 'expired' end
redis.call('HSET', key, 'v', ARGV[5], 't', ARGV[2], 'p', ARGV[3], 's', 'completed', 'a', ARGV[6], 'pr', 100, 'c', ARGV[7], 'fin', ARGV[9],
  'exp', ARGV[10], 'spec', ARGV[4], 'res', ARGV[11], 'sk', ARGV[12], 'b', ARGV[14])
store_more(ARGV[2], ARGV[14])
if ARGV[8] ~= '' then redis.call('HSET', key, 'st', ARGV[8]) end
if ARGV[13] ~= '' then redis.call('HSET', key, 'ik', ARGV[13]) end
redis.call('ZADD', tenant_key(ARGV[2]), 0, id)
redis.call('ZADD', expiry_key, ARGV[10], id)
redis.call('SADD', P .. ':pipelines', ARGV[3])
return 'made'
