-- fail: the attempt ends the job.
-- ARGV: id attempt retention_ms zombie_ms code message
if not owns(ARGV[1], ARGV[2]) then
  local f = redis.call('HMGET', record_key(ARGV[1]), 's', 'a', 'ec')
  if f[1] == 'failed' and f[2] == ARGV[2] and f[3] == ARGV[5] then return 'ok' end
  return 'stale'
end
fail(ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6])
return 'ok'
