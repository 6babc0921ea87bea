-- hook_history: the deliveries of an endpoint, the newest first.
-- ARGV: id tenant limit
if redis.call('HGET', hook_key(ARGV[1]), 't') ~= ARGV[2] then return {'missing'} end
local out = {'ok'}
for _, event in ipairs(redis.call('ZREVRANGE', history_key(ARGV[1]), 0, tonumber(ARGV[3]) - 1)) do
  local key = delivery_key(ARGV[1], event)
  if redis.call('EXISTS', key) == 1 then
    local due = redis.call('ZSCORE', due_key(ARGV[1]), event)
    out[#out + 1] = {event, due or '', redis.call('HGETALL', key)}
  end
end
return out
