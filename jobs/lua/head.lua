-- head: the oldest queued jobs of a pipeline that have waited a while, so that what woke workers up for them can be looked for. Those that stand in no lane get their
-- place: their creator knew of none, or their rest is over and its ticket lost.
-- ARGV: pipeline limit age_ms
-- Answers how many have waited that long, then id and attempt of the oldest.
local pipeline, before = ARGV[1], now - tonumber(ARGV[3])
local out = {redis.call('ZCOUNT', queued_key(pipeline), '-inf', int(before * 1000))}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', queued_key(pipeline), '-inf', int(before * 1000), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local f = redis.call('HMGET', record_key(id), 's', 'a', 'qa', 't', 'y', 'du')
  if f[1] ~= 'queued' then
    redis.call('ZREM', queued_key(pipeline), id)
  elseif (not f[3] or tonumber(f[3]) <= before) and (not f[6] or tonumber(f[6]) <= before) then
    if not redis.call('ZSCORE', lane_key(pipeline, f[4]), id) then enlane(id, pipeline, f[4], f[2], f[5]) end
    out[#out + 1] = id
    out[#out + 1] = f[2]
  end
end
return out
