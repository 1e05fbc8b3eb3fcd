-- Ends reservations of one tenant that are past their lease: charged as reserved, with the event that admission left,
-- or given back when it left none.
-- KEYS: leases, ledger.
-- ARGV: prefix of operation keys, at most, ms to remember them, events kept, ledger ms, prefix of the keys of sums.
-- Reply: how many were looked at, when the next lease ends (-1: none is open), then of each that was ended its encoded
-- operation, and '1' when it was charged.
local NOTHING = { r = 0, t = 0, s = 0 }
local ended = {}
local due = call('ZRANGEBYSCORE', KEYS[1], '-inf', NOW, 'LIMIT', 0, ARGV[2])
for _, operation in ipairs(due) do
  local key = ARGV[1] .. operation
  local record = read_record(call('GET', key))
  call('ZREM', KEYS[1], operation)
  if record and record.state == 'held' then
    local event, entry = expiry_of(record)
    local charge = event ~= ''
    replace(record.reserved, 1, true, not charge and NOTHING or nil)
    if charge then
      book_text(KEYS[2], ARGV[4], ARGV[6], 'event', event, entry)
      keep_ledger(KEYS[2], ARGV[5])
    end
    ended[#ended + 1] = operation
    ended[#ended + 1] = charge and '1' or '0'
    write_record(key, ARGV[3], charge and 'charged' or 'released', record.answer, record.reserved, event, entry)
  end
end
local first = call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { #due, first[2] or '-1', unpack(ended) }
