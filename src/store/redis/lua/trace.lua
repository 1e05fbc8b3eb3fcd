-- Puts traces in front of those of the same ids.
-- KEYS: a key a trace. ARGV: how many to keep of an id, then for each trace its text and the ms to keep it.
local most = tonumber(ARGV[1])
for i = 1, #KEYS do
  if redis.call('LPUSH', KEYS[i], ARGV[2 * i]) > most then redis.call('LTRIM', KEYS[i], 0, most - 1) end
  redis.call('PEXPIRE', KEYS[i], ARGV[2 * i + 1])
end
return #KEYS
