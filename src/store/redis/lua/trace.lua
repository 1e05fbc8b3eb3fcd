-- Puts a trace in front of those of the same id.
-- KEYS: trace. ARGV: trace, how many to keep, ms to keep them.
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
