-- A page of records in order of id.
-- KEYS: sorted set of ids, the kind's hash. ARGV: start as ZRANGEBYLEX takes it, at most. Reply: id, stored text, ...
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
local reply = {}
for _, id in ipairs(ids) do
  local text = redis.call('HGET', KEYS[2], id)
  if text then
    reply[#reply + 1] = id
    reply[#reply + 1] = text
  end
end
return reply
