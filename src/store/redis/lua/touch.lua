-- Notes that a tenant is in use and when the sweeper should look at it at the latest.
-- KEYS: tenants, due. ARGV: tenant, lease ms, ms to keep the index.
local DAY_MS = 86400000
redis.call('ZADD', KEYS[1], NOW, ARGV[1])
redis.call('ZADD', KEYS[2], 'LT', NOW + tonumber(ARGV[2]), ARGV[1])
-- Once a day: of so many days one more or less does not matter.
local keep = tonumber(ARGV[3])
for i = 1, 2 do
  if redis.call('PTTL', KEYS[i]) < keep - DAY_MS then
    if i == 1 then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', NOW - keep) end
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
  end
end
return 1
