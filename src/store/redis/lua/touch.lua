-- Notes that a tenant is in use and when the sweeper should look at it at the latest.
-- KEYS: tenants, due. ARGV: tenant, lease ms, ms to keep the index.
redis.call('ZADD', KEYS[1], NOW, ARGV[1])
redis.call('ZADD', KEYS[2], 'LT', NOW + tonumber(ARGV[2]), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', NOW - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
