-- Takes the amounts from all lines or from none.
-- KEYS: operation, leases, one counter a line.
-- ARGV: encoded operation, lease ms, ms to keep the record and what is open, ms a refusal is remembered, event on expiry or '',
--       its entry, '1' when the caller asks for the last time, requests, tokens and spend to take, then window, unit, limit of
--       each line. A unit is its first letter, in upper case when an earlier line has the same counter: both limits are
--       checked, and it is taken from once.
-- Reply: 'h' or 'd,<line>,<wait ms>', then '|<remaining>,<reset ms>' of each line. Or, with nothing done: 'r,<now>' when the
-- caller's periods of a zone are not those of our time, 'x' when leases that are over may hold what is missing.

-- Milliseconds until `need` has fallen out of the window, oldest first.
local function sliding_wait(w, need)
  local first = w.tick - w.span.length + 1
  local ticks, values = {}, {}
  if call('HLEN', w.key) < 64 then
    local all = call('HGETALL', w.key)
    for i = 1, #all, 2 do
      local tick = tonumber(all[i])
      if tick and tick >= first then
        ticks[#ticks + 1] = tick
        values[tick] = tonumber(all[i + 1])
      end
    end
    table.sort(ticks)
    for _, tick in ipairs(ticks) do
      need = need - values[tick]
      if need <= 0 then return sliding_end(w, tick) - NOW end
    end
    return sliding_end(w, w.tick) - NOW
  end
  -- A full window: mostly the first few buckets are enough.
  for from = first, w.tick, 32 do
    ticks = {}
    for tick = from, math.min(from + 31, w.tick) do ticks[#ticks + 1] = tick end
    for i, value in ipairs(call('HMGET', w.key, unpack(ticks))) do
      need = need - tonumber(value or '0')
      if need <= 0 then return sliding_end(w, ticks[i]) - NOW end
    end
  end
  return sliding_end(w, w.tick) - NOW
end

local function line_wait(line, amount)
  if line.period then return line.period.stop * 1000 - NOW end
  if not line.w then return OPEN_WAIT end
  if amount > line.limit then
    if line.sum == 0 then return line.w.span.seconds * 1000 end
    return sliding_end(line.w, line.w.last) - NOW
  end
  return sliding_wait(line.w, line.sum - (line.limit - amount))
end

local ttl = ARGV[3]
local texts = { r = ARGV[8], t = ARGV[9], s = ARGV[10] }
local amounts = { r = tonumber(ARGV[8]), t = tonumber(ARGV[9]), s = tonumber(ARGV[10]) }
amounts.R, amounts.T, amounts.S = amounts.r, amounts.t, amounts.s

local lines, strings = open_lines(3, 11, { KEYS[1] })
if not lines then return 'r,' .. int(NOW) end
local known = read_record(strings[1])
if known and known.answer ~= '' then return known.answer end

local tightest, wait = 0, -1
for i = 1, #lines do
  local line = lines[i]
  local amount = amounts[line.unit]
  if amount > line.limit - line.sum then
    local open = not line.w and not line.period
    if open and ARGV[7] ~= '1' and call('ZCOUNT', KEYS[2], '-inf', int(NOW)) > 0 then return 'x' end
    local w = line_wait(line, amount)
    if w > wait then
      tightest, wait = i, w
    end
  end
end

-- Settled before it was admitted: the answer is given, nothing is taken.
local settled = known ~= nil
local taking = tightest == 0 and not settled
local states = {}
for i = 1, #lines do
  states[2 * i - 1], states[2 * i] = line_state(lines[i], taking and amounts[lines[i].unit] or 0)
end
local reply = tightest == 0 and 'h' or ('d,' .. (tightest - 1) .. ',' .. int(math.max(1, wait)))
if #lines > 0 then reply = reply .. format(string.rep('|%d,%d', #lines), unpack(states)) end
if settled then return reply end
if not taking then
  write_record(KEYS[1], ARGV[4], 'denied', reply)
  return reply
end

local function take(line, amount, text)
  if line.w then
    if amount > 0 then sliding_add(line.w, amount) end
  elseif line.period then
    -- Also of nothing: what is settled later corrects a counter that is there.
    if amount > 0 or line.fresh then call('INCRBY', line.key, text) end
    if line.fresh then call('PEXPIRE', line.key, int((line.period.stop + DAY) * 1000 - NOW)) end
  elseif amount > 0 then
    call('INCRBY', line.key, text)
    call('PEXPIRE', line.key, ttl)
  end
end

-- What was reserved, as `replace` reads it: JSON of window, unit, amount, bucket and key of each line, one after the other. What
-- is before the key is the same for most lines of a window and unit.
local heads = {}
local function head_of(line, text)
  local of = heads[line.window]
  if not of then
    of = {}
    heads[line.window] = of
  end
  local at = line.w and line.w.tick or 0
  local head = of[line.unit]
  if head and (not line.w or at == line.w.span.tick) then return head end
  head = '"' .. (line.period and 'z' or line.window) .. '","' .. line.unit .. '",' .. text .. ',' .. int(at) .. ',"'
  if not line.w or at == line.w.span.tick then of[line.unit] = head end
  return head
end

local reserved = { '[' }
for i = 1, #lines do
  local line = lines[i]
  local text = texts[line.unit]
  if text then
    take(line, amounts[line.unit], text)
    local n = #reserved
    reserved[n + 1], reserved[n + 2], reserved[n + 3] = head_of(line, text), line.key, '",'
  end
end
reserved[#reserved + 1] = '0]'
write_record(KEYS[1], ttl, 'held', reply, table.concat(reserved), ARGV[5], ARGV[6])
call('ZADD', KEYS[2], int(NOW + tonumber(ARGV[2])), ARGV[1])
call('PEXPIRE', KEYS[2], ttl)
return reply
