-- Puts traces in front of those of the same ids.
-- KEYS: a key a trace. ARGV: how many to keep of an id, then for each trace its text and the ms to keep it.
for i = 1, #KEYS do
  redis.call('LPUSH', KEYS[i], ARGV[2 * i])
  redis.call('LTRIM', KEYS[i], 0, tonumber(ARGV[1]) - 1)
  redis.call('PEXPIRE', KEYS[i], ARGV[2 * i + 1])
end
return #KEYS
