-- Replaces what was reserved by the true amounts and books the events, once.
-- KEYS: operation, leases, ledger.
-- ARGV: encoded operation, requests, tokens, spend, ms to remember it, events kept, ledger ms, prefix of the keys of sums, then
--       each event and its entry.
local record = read_record(KEYS[1])
local state = record and record.state
if state == 'settled' then return 'repeated' end

local held = state == 'held'
local late = state == 'charged' or state == 'released'
if held or late then
  local charged = state == 'released' and 0 or 1
  replace(record.reserved, charged, held, tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
end
if held then redis.call('ZREM', KEYS[2], ARGV[1]) end
-- What the expiry booked is taken back by an entry of its own: a ledger is never rewritten.
if state == 'charged' then book(KEYS[3], ARGV[6], ARGV[8], 'reversal', record.event, record.entry) end
for i = 9, #ARGV, 2 do book(KEYS[3], ARGV[6], ARGV[8], 'event', ARGV[i], ARGV[i + 1]) end
if #ARGV > 8 or state == 'charged' then keep_ledger(KEYS[3], ARGV[7]) end

write_record(KEYS[1], ARGV[5], 'settled', record and record.answer or '')
return late and 'late' or 'settled'
