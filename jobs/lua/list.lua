-- list: a page of a tenant's jobs by id. It drops expired rows that it meets, so they cannot empty a page, and looks at scan_max rows at most.
-- ARGV: tenant after limit descending scan_max zombie_ms
local tenant, after, limit, descending = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local scan_max, zombie_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
local index = tenant_key(tenant)
local rows, scanned = {}, 0
while scanned < scan_max do
  local want = limit + 1 - #rows
  local ids
  if descending then
    ids = redis.call('ZREVRANGEBYLEX', index, after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, want)
  else
    ids = redis.call('ZRANGEBYLEX', index, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, want)
  end
  for _, id in ipairs(ids) do
    after = id
    scanned = scanned + 1
    local expires = redis.call('HMGET', record_key(id), 'c', 'exp')
    if not expires[1] then
      redis.call('ZREM', index, id)
    elseif expires[2] and tonumber(expires[2]) <= now then
      forget(id, zombie_ms)
    else
      if #rows == limit then return {1, after, rows} end
      rows[#rows + 1] = {id, redis.call('HGETALL', record_key(id))}
    end
  end
  if #ids < want then return {0, after, rows} end
end
return {2, after, rows}
