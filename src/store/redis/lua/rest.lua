-- Says when a swept tenant is due again; one without open reservations leaves once nobody can have used it unnoticed.
-- KEYS: tenants, due. ARGV: tenant, when its next lease ends (-1: none), ms to the next look, ms of grace.
local next = tonumber(ARGV[2])
if next < 0 then
  local touched = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0')
  if NOW - touched > tonumber(ARGV[4]) then
    return redis.call('ZREM', KEYS[2], ARGV[1])
  end
  next = NOW + tonumber(ARGV[3])
end
return redis.call('ZADD', KEYS[2], 'XX', next, ARGV[1])
