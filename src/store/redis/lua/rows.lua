-- Reads sums of hours or days, and how far the ledger had come at that moment.
-- KEYS: ledger, then one hash an hour or day. Reply: last id ('' = none), then each hash.
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local reply = { last[1] and last[1][1] or '' }
for i = 2, #KEYS do reply[i] = redis.call('HGETALL', KEYS[i]) end
return reply
