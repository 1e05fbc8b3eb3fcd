-- Writes a record when the stored version is the one expected.
-- KEYS: the kind's hash. ARGV: prefix, kind, id, version expected (0 = must not be there), encoded tenant, hash of the secret or
-- '-', hash of the previous one or '-', JSON.
-- Reply: 'w' and the stored text; 's' and the stored text or nil (stale); 'c' when a secret is that of another key.
local prefix, kind, id, tenant = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local text = redis.call('HGET', KEYS[1], id)
local head = text and read_head(text)
if (head and head.version or '0') ~= ARGV[4] then return { 's', text } end
for i = 6, 7 do
  local owner = ARGV[i] ~= '-' and redis.call('HGET', prefix .. 'secrets', ARGV[i])
  if owner and owner ~= id then return { 'c' } end
end

if head then
  forget_secrets(prefix, head, id)
  if head.tenant ~= tenant then redis.call('ZREM', prefix .. kind .. ':of:' .. head.tenant, id) end
end
for i = 6, 7 do
  if ARGV[i] ~= '-' then redis.call('HSET', prefix .. 'secrets', ARGV[i], id) end
end
redis.call('ZADD', prefix .. kind .. ':ids', 0, id)
redis.call('ZADD', prefix .. kind .. ':of:' .. tenant, 0, id)
local now = string.format('%d', NOW)
local version = string.format('%d', (head and head.version or 0) + 1)
local created = head and head.created or now
text = table.concat({ version, created, now, tenant, ARGV[6], ARGV[7] }, ' ') .. '\n' .. ARGV[8]
redis.call('HSET', KEYS[1], id, text)
tell(prefix, kind, id)
return { 'w', text }
