-- batches: a page of a tenant's batches by id. Those whose time is over leave the index when they are met.
-- ARGV: tenant after limit descending
local index, after, limit = P .. ':bt:' .. ARGV[1], ARGV[2], tonumber(ARGV[3])
local rows = {}
while true do
  local want, ids = limit + 1 - #rows, nil
  if ARGV[4] == '1' then
    ids = redis.call('ZREVRANGEBYLEX', index, after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, want)
  else
    ids = redis.call('ZRANGEBYLEX', index, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, want)
  end
  for _, id in ipairs(ids) do
    after = id
    local f = redis.call('HGETALL', P .. ':b:' .. id)
    if #f == 0 then
      redis.call('ZREM', index, id)
    elseif #rows == limit then
      return {1, rows}
    else
      rows[#rows + 1] = {id, f}
    end
  end
  if #ids < want then return {0, rows} end
end
