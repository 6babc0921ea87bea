-- documents: a page of a tenant's documents by id.
-- ARGV: kind tenant after limit descending
-- Answers whether there is more, then id, creation time and document of each.
local index = P .. ':' .. ARGV[1] .. 't:' .. ARGV[2]
local after, limit = ARGV[3], tonumber(ARGV[4])
local ids
if ARGV[5] == '1' then
  ids = redis.call('ZREVRANGEBYLEX', index, after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, limit + 1)
else
  ids = redis.call('ZRANGEBYLEX', index, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit + 1)
end
local out = {#ids > limit and '1' or '0'}
for i = 1, math.min(limit, #ids) do
  local f = redis.call('HMGET', P .. ':' .. ARGV[1] .. ':' .. ids[i], 'c', 'doc')
  out[#out + 1] = f[1] or ''
  out[#out + 1] = f[2] or ''
end
return out
