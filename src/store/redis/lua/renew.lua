-- A sign of life.
-- KEYS: operation, leases. ARGV: encoded operation, lease ms, ms a record outlives its lease.
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
local lease = tonumber(ARGV[2])
redis.call('ZADD', KEYS[2], NOW + lease, ARGV[1])
redis.call('PEXPIRE', KEYS[2], lease + tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], lease + tonumber(ARGV[3]))
return 1
