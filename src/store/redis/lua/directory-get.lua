-- The key of a secret, present or previous.
-- KEYS: secrets, the hash of keys. ARGV: hash of the secret. Reply: id and stored text, or nothing.
local id = redis.call('HGET', KEYS[1], ARGV[1])
local text = id and redis.call('HGET', KEYS[2], id)
if not text then return {} end
return { id, text }
