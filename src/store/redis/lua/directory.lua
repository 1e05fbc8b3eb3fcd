-- Shared by the scripts that write the directory; put in front of each of them, after the clock.
-- A record is one string: version, unix ms of the first and last write, its tenant (encoded), hashes of its secret and of the
-- one before ('-' = none), then a line end and the record's JSON.
-- Keys of one kind: '<prefix><kind>' (hash id -> record), '<prefix><kind>:ids' and '<prefix><kind>:of:<tenant>' (sorted sets,
-- all scores 0: ids in order). '<prefix>secrets': hash of a secret -> id of its key. '<prefix>writes': how many writes there were.

local function read_head(text)
  local version, created, updated, tenant, secret, previous =
    string.match(text, '^(%d+) (%d+) (%d+) (%S+) (%S+) (%S+)\n')
  return {
    version = version, created = created, updated = updated, tenant = tenant, secrets = { secret, previous },
  }
end

local function forget_secrets(prefix, head, id)
  for _, secret in ipairs(head.secrets) do
    if redis.call('HGET', prefix .. 'secrets', secret) == id then redis.call('HDEL', prefix .. 'secrets', secret) end
  end
end

-- Who watches hears of it, or finds the number of writes changed. A user who may not publish may write all the same.
local function tell(prefix, kind, id)
  local writes = redis.call('INCR', prefix .. 'writes')
  redis.pcall('PUBLISH', prefix .. 'changes', writes .. ' ' .. kind .. ' ' .. id)
end
