-- Takes the amounts from all lines or from none.
-- KEYS: operation, leases, one counter a line.
-- ARGV: encoded operation, lease ms, ms a record outlives its lease, ms a refusal is remembered, event on expiry or '', its
--       entry, '1' when the caller asks for the last time, then window, unit, amount, limit of each line.
-- Reply: 'h' or 'd,<line>,<wait ms>', then '|<remaining>,<reset ms>' of each line. Or, with nothing done: 'r,<now>' when the
-- caller's periods of a zone are not those of our time, 'x' when leases that are over may hold what is missing.
local known = read_record(KEYS[1])
if known and known.answer ~= '' then return known.answer end

local lease = tonumber(ARGV[2])
local lines, seen = {}, {}
local tightest, wait = 0, -1
for i = 3, #KEYS do
  local a = 7 + (i - 3) * 4
  local line = open_line(KEYS[i], ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]))
  if not line then return 'r,' .. int(NOW) end
  -- A counter named twice is taken from once; both limits are checked.
  line.again = seen[line.key]
  seen[line.key] = true
  lines[#lines + 1] = line
  if line.amount > line.limit - line.sum then
    if line.open and ARGV[7] ~= '1' and redis.call('ZCOUNT', KEYS[2], '-inf', int(NOW)) > 0 then return 'x' end
    local w = line_wait(line)
    if w > wait then
      tightest, wait = #lines, w
    end
  end
end

-- Settled before it was admitted: the answer is given, nothing is taken.
local settled = known ~= nil
local taking = tightest == 0 and not settled
local reply = tightest == 0 and 'h' or ('d,' .. (tightest - 1) .. ',' .. int(math.max(1, wait)))
for _, line in ipairs(lines) do
  reply = reply .. '|' .. line_state(line, taking and line.amount or 0)
end
if settled then return reply end
if not taking then
  write_record(KEYS[1], ARGV[4], 'denied', reply)
  return reply
end

local ttl = int(lease + tonumber(ARGV[3]))
local reserved = {}
for _, line in ipairs(lines) do
  if not line.again then
    line_take(line, ttl)
    reserved[#reserved + 1] = pack_line(line)
  end
end
write_record(KEYS[1], ttl, 'held', reply, table.concat(reserved, ';'), ARGV[5], ARGV[6])
redis.call('ZADD', KEYS[2], int(NOW + lease), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ttl)
return reply
