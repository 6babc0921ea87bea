-- limit: changes limits of an API key, unless it was revoked. A limit of -1 goes. That of running jobs is the tenant's at once, for those that wait already.
-- ARGV: secret_hash, then for each: field limit
local key = P .. ':k:' .. ARGV[1]
if redis.call('EXISTS', key) == 0 then return 'missing' end
for i = 2, #ARGV, 2 do
  local name, limit = ARGV[i], ARGV[i + 1]
  if limit == '-1' then redis.call('HDEL', key, name) else redis.call('HSET', key, name, limit) end
  if name == 'q:running' and limit == '0' then
    redis.call('HDEL', P .. ':running_max', redis.call('HGET', key, 't'))
  elseif name == 'q:running' and limit ~= '-1' then
    redis.call('HSET', P .. ':running_max', redis.call('HGET', key, 't'), limit)
  end
end
return 'ok'
