-- pulse: renews the leases of one consumer's runs and writes their progress.
-- ARGV: lease_ms pipeline cancelled_code, then for each run: id attempt progress phase. A progress of -1 leaves progress and phase alone.
-- A call that was long on its way may arrive after a later one: progress never falls within an attempt.
-- Answers for each run: 'ok', 'cancelled' (ended by its user, or deleted) or 'lost'.
local lease, running, code = tonumber(ARGV[1]), running_key(ARGV[2]), ARGV[3]
local answers = {}
for i = 4, #ARGV, 4 do
  local id, attempt, progress, phase = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3]
  local key = record_key(id)
  local f = redis.call('HMGET', key, 's', 'a', 'ec', 'pr')
  local answer = 'lost'
  if f[1] == 'in_progress' and f[2] == attempt then
    answer = 'ok'
    redis.call('ZADD', running, int(now + lease), id)
    if progress >= (tonumber(f[4]) or 0) then
      redis.call('HSET', key, 'pr', int(progress), 'ph', phase)
      redis.call('HINCRBY', key, 'r', 1)
      changed(id)
    end
  elseif not f[1] or (f[2] == attempt and f[3] == code) then
    answer = 'cancelled'
  end
  answers[#answers + 1] = answer
end
return answers
