-- Replaces what was reserved by the true amounts and books the events, once.
-- KEYS: operation, leases, ledger.
-- ARGV: encoded operation, requests, tokens, spend, ms to remember it, events kept, ledger ms, prefix of the keys of sums, then
--       of each event its text and the fields of its entry, as `add_up` takes them.
local record = read_record(call('GET', KEYS[1]))
local state = record and record.state
if state == 'settled' then return 'repeated' end

local held = state == 'held'
local late = state == 'charged' or state == 'released'
if (held or late) and record.reserved ~= '' then
  local charged = state == 'released' and 0 or 1
  replace(record.reserved, charged, held, { r = tonumber(ARGV[2]), t = tonumber(ARGV[3]), s = tonumber(ARGV[4]) })
end
if held then call('ZREM', KEYS[2], ARGV[1]) end
-- What the expiry booked is taken back by an entry of its own: a ledger is never rewritten.
if state == 'charged' then book_text(KEYS[3], ARGV[6], ARGV[8], 'reversal', expiry_of(record)) end
for i = 9, #ARGV, 11 do
  book(KEYS[3], ARGV[6], 'event', ARGV[i])
  add_up(ARGV[8], 1, unpack(ARGV, i + 1, i + 10))
end
if #ARGV > 8 or state == 'charged' then keep_ledger(KEYS[3], ARGV[7]) end

write_record(KEYS[1], ARGV[5], 'settled', record and record.answer or '')
return late and 'late' or 'settled'
