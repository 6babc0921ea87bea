-- list: a page of sessions, the newest first. ARGV: tenant (empty: all) after limit. Answers 'missing' or: more, then id and record in turn.
local index = ARGV[1] == '' and all_key or tenant_key(ARGV[1])
local from, limit = 0, tonumber(ARGV[3])
if ARGV[2] ~= '' then
  local rank = redis.call('ZREVRANK', index, ARGV[2])
  if not rank then return {'missing'} end
  from = rank + 1
end
local ids = redis.call('ZREVRANGE', index, from, from + limit)
local out = {#ids > limit and 'more' or 'last'}
for i = 1, math.min(#ids, limit) do
  out[#out + 1] = ids[i]
  out[#out + 1] = answer(ids[i])
end
return out
