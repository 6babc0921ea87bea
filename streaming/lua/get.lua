-- get: one session of a tenant's. ARGV: tenant id
if redis.call('HGET', record_key(ARGV[2]), 't') ~= ARGV[1] then return {} end
return answer(ARGV[2])
