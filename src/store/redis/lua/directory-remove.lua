-- Takes a record out when the stored version is the one expected.
-- KEYS: the kind's hash. ARGV: prefix, kind, id, version expected. Reply: as in directory-put; 'w' with what was there.
local prefix, kind, id = ARGV[1], ARGV[2], ARGV[3]
local text = redis.call('HGET', KEYS[1], id)
local head = text and read_head(text)
if not head or head.version ~= ARGV[4] then return { 's', text } end
forget_secrets(prefix, head, id)
redis.call('HDEL', KEYS[1], id)
redis.call('ZREM', prefix .. kind .. ':ids', id)
redis.call('ZREM', prefix .. kind .. ':of:' .. head.tenant, id)
tell(prefix, kind, id)
return { 'w', text }
