-- place: how many jobs begin before each of some queued ones if nothing else happens. Tenants take turns, so of each other lane as many go before one as stand before it in its own,
-- and one more where the tenant's turn comes first. Beyond the first OTHERS tenants the rest counts as those did.
-- ARGV: id pipeline tenant of each
-- Answers the places from 1, 0 for a job that does not wait.
local OTHERS = 100
local lines = {}

-- line reads what all jobs of a pipeline stand behind: how many tenants wait, how many jobs, and the lanes of the first tenants.
local function line(pipeline)
  if not lines[pipeline] then
    local turns = redis.call('ZCARD', turns_key(pipeline))
    local l = {tenants = turns, jobs = redis.call('ZCARD', queued_key(pipeline)), first = redis.call('ZRANGE', turns_key(pipeline), 0, math.min(turns - 1, OTHERS)), lanes = {}}
    for i, tenant in ipairs(l.first) do l.lanes[i] = redis.call('ZCARD', lane_key(pipeline, tenant)) end
    lines[pipeline] = l
  end
  return lines[pipeline]
end

local function place(id, pipeline, tenant)
  local behind = redis.call('ZRANK', lane_key(pipeline, tenant), id)
  local turn = redis.call('ZRANK', turns_key(pipeline), tenant)
  if not behind or not turn then -- it rests, or waits as its creator knew how to
    local rank = redis.call('ZRANK', queued_key(pipeline), id)
    return rank and rank + 1 or 0
  end
  if behind == 0 then return turn + 1 end
  local l = line(pipeline)
  local before, seen = 0, 0
  for i, other in ipairs(l.first) do
    if other ~= tenant then
      seen = seen + 1
      before = before + math.min(l.lanes[i], behind + (i - 1 < turn and 1 or 0))
    end
  end
  if seen < l.tenants - 1 then before = math.floor(before * (l.tenants - 1) / seen) end
  return math.min(behind + before + 1, math.max(l.jobs, behind + 1))
end

local out = {}
for i = 1, #ARGV, 3 do out[#out + 1] = place(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
return out
