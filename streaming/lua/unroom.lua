-- unroom: a room is closed. ARGV: room
return redis.call('ZREM', rooms_key, ARGV[1])
