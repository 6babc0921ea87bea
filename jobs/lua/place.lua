-- place: how many jobs begin before a queued one if nothing else happens. Tenants take turns, so of each other lane as many go before it as stand before it in its own,
-- and one more where the tenant's turn comes first. Beyond the first OTHERS tenants the rest counts as those did.
-- ARGV: id pipeline tenant
-- Answers the place from 1, or nothing for a job that does not wait.
local id, pipeline, tenant = ARGV[1], ARGV[2], ARGV[3]
local OTHERS = 100
local behind = redis.call('ZRANK', lane_key(pipeline, tenant), id)
local turn = redis.call('ZRANK', turns_key(pipeline), tenant)
if not behind or not turn then -- it rests, or waits as its creator knew how to
  local rank = redis.call('ZRANK', queued_key(pipeline), id)
  return rank and {rank + 1} or {}
end
if behind == 0 then return {turn + 1} end
local tenants = redis.call('ZCARD', turns_key(pipeline)) - 1
local before, seen = 0, 0
for i, other in ipairs(redis.call('ZRANGE', turns_key(pipeline), 0, math.min(tenants, OTHERS))) do
  if other ~= tenant then
    seen = seen + 1
    before = before + math.min(redis.call('ZCARD', lane_key(pipeline, other)), behind + (i - 1 < turn and 1 or 0))
  end
end
if seen < tenants then before = math.floor(before * tenants / seen) end
return {math.min(behind + before + 1, math.max(redis.call('ZCARD', queued_key(pipeline)), behind + 1))}
