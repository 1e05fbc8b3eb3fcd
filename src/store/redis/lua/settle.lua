-- Replaces what was reserved by the true amounts and books the events, once.
-- KEYS: operation, leases, ledger.
-- ARGV: encoded operation, requests, tokens, ms to remember it, events kept, ledger ms, then the events.
local record = read_record(KEYS[1])
local state = record and record.state
if state == 'settled' then return 'repeated' end

local held = state == 'held'
local late = state == 'charged' or state == 'released'
if held or late then
  replace(record.reserved, state == 'released' and 0 or 1, tonumber(ARGV[2]), tonumber(ARGV[3]))
end
if held then redis.call('ZREM', KEYS[2], ARGV[1]) end
-- What the expiry booked is taken back by an entry of its own: a ledger is never rewritten.
if state == 'charged' then book(KEYS[3], ARGV[5], 'reversal', record.event) end
for i = 7, #ARGV do book(KEYS[3], ARGV[5], 'event', ARGV[i]) end
if #ARGV > 6 or state == 'charged' then redis.call('PEXPIRE', KEYS[3], ARGV[6]) end

write_record(KEYS[1], ARGV[4], 'settled', record and record.answer or '')
return late and 'late' or 'settled'
