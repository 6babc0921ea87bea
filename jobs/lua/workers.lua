-- workers: those that are up, as expiry and document; the others are forgotten.
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', P .. ':workers', '-inf', int(now))) do
  redis.call('ZREM', P .. ':workers', owner)
  redis.call('HDEL', P .. ':worker', owner)
end
local out = {}
local up = redis.call('ZRANGE', P .. ':workers', 0, -1, 'WITHSCORES')
for i = 1, #up, 2 do
  local document = redis.call('HGET', P .. ':worker', up[i])
  if document then
    out[#out + 1] = up[i + 1]
    out[#out + 1] = document
  end
end
return out
