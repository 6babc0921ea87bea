-- hook_list: all endpoints of a tenant by id, without their secrets.
-- ARGV: tenant
local out = {}
for _, id in ipairs(redis.call('ZRANGE', P .. ':ht:' .. ARGV[1], 0, -1)) do
  out[#out + 1] = {id, redis.call('HGETALL', hook_key(id))}
end
return out
