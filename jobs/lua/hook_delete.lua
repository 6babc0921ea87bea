-- hook_delete: an endpoint and its secrets go at once; what it had to send is swept up later.
-- ARGV: id tenant
if redis.call('HGET', hook_key(ARGV[1]), 't') ~= ARGV[2] then return 'missing' end
redis.call('DEL', hook_key(ARGV[1]), P .. ':hs:' .. ARGV[1])
redis.call('ZREM', P .. ':ht:' .. ARGV[2], ARGV[1])
redis.call('ZREM', P .. ':hnext', ARGV[1])
redis.call('SADD', P .. ':hgone', ARGV[1])
return 'ok'
