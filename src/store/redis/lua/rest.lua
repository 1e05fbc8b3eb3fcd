-- Says when swept tenants are due again; one without open reservations leaves once nobody can have used it unnoticed.
-- KEYS: tenants, due. ARGV: ms to the next look, ms of grace, then of each its name and when its next lease ends (-1: none).
for i = 3, #ARGV, 2 do
  local tenant, due = ARGV[i], tonumber(ARGV[i + 1])
  if due < 0 then
    due = NOW + tonumber(ARGV[1])
    local touched = tonumber(redis.call('ZSCORE', KEYS[1], tenant) or '0')
    if NOW - touched > tonumber(ARGV[2]) then due = nil end
  else
    -- A long lease may be made shorter by who does not know of this look.
    due = math.min(due, NOW + tonumber(ARGV[1]))
  end
  if due then
    redis.call('ZADD', KEYS[2], 'XX', due, tenant)
  else
    redis.call('ZREM', KEYS[2], tenant)
  end
end
return (#ARGV - 2) / 2
