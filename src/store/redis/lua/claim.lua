-- Gives tenants that are due for a sweep and keeps other sweepers off them for a while.
-- KEYS: due. ARGV: at most, ms of the claim.
local tenants = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', NOW, 'LIMIT', 0, ARGV[1])
for _, tenant in ipairs(tenants) do
  redis.call('ZADD', KEYS[1], NOW + tonumber(ARGV[2]), tenant)
end
return tenants
