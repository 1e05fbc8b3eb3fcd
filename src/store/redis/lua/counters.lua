-- Shared by the scripts that touch counters; put in front of each of them, after the clock.
-- Every number here is a whole number below 2^53, which a double holds exactly. `..` prints only 14 digits, and what
-- redis.call() prints by itself is exact but slow: numbers become text through int().

local MAX = 9007199254740991
-- A window has at most this many buckets besides the current one: one second each up to ten minutes, coarser above.
local BUCKETS = 600
local DAY = 86400
-- When an open operation will end is not known: ask again after this long (ms).
local OPEN_WAIT = 1000

local function int(n)
  return string.format('%d', n)
end

-- Proleptic Gregorian date of a day number since 1970-01-01.
local function civil(day)
  local z = day + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local d = doy - math.floor((153 * mp + 2) / 5) + 1
  local m = mp < 10 and mp + 3 or mp - 9
  local y = yoe + era * 400 + (m <= 2 and 1 or 0)
  return y, m, d
end

-- The id of the period that SEC lies in, and the second it ends.
local function period(window)
  local day = math.floor(SEC / DAY)
  local y, m, d = civil(day)
  if window == 'day' then
    return string.format('%04d%02d%02d', y, m, d), (day + 1) * DAY
  end
  local days = 31
  if m == 4 or m == 6 or m == 9 or m == 11 then
    days = 30
  elseif m == 2 then
    days = ((y % 4 == 0 and y % 100 ~= 0) or y % 400 == 0) and 29 or 28
  end
  return string.format('%04d%02d', y, m), (day - d + 1 + days) * DAY
end

-- A sliding counter as of now, and what its bucket `at` holds. Nothing is written. Hash fields: s = sum, u = tick it was
-- advanced to, l = last tick that took something, and one field a tick. A bucket counts until it is wholly out of the
-- window, so a window is ceil(seconds / width) + 1 buckets long.
local function sliding(key, seconds, at)
  local width = math.ceil(seconds / BUCKETS)
  local span = math.ceil(seconds / width) + 1
  local tick = math.floor(SEC / width)
  local name = int(tick)
  local v = redis.call('HMGET', key, 's', 'u', 'l', name, at or name)
  local w = { key = key, width = width, span = span, tick = tick, sum = 0, last = tick - span, here = 0, gone = {} }
  local upto = tonumber(v[2] or '')
  if upto == nil then return w end
  if tick - upto >= span then
    w.stale = true
    return w
  end
  w.sum = tonumber(v[1])
  w.last = tonumber(v[3])
  w.held = tonumber(v[5] or '0')
  if upto > tick then
    -- The clock went back: stay where the counter is, or one window would be given out twice.
    w.tick = upto
    w.here = tonumber(redis.call('HGET', key, upto) or '0')
    return w
  end
  w.here = tonumber(v[4] or '0')
  if tick > upto then
    local old = {}
    for b = upto - span + 1, tick - span do old[#old + 1] = b end
    local values = redis.call('HMGET', key, unpack(old))
    for i, value in ipairs(values) do
      if value then
        w.sum = w.sum - tonumber(value)
        w.gone[#w.gone + 1] = old[i]
      end
    end
  end
  return w
end

local function sliding_end(w, tick)
  return (tick + w.span) * w.width * 1000
end

local function sliding_forget(w)
  if w.stale then
    redis.call('DEL', w.key)
  elseif #w.gone > 0 then
    redis.call('HDEL', w.key, unpack(w.gone))
  end
end

local function sliding_add(w, amount)
  sliding_forget(w)
  -- Past 2^53 the counter stands still: it is above every limit already.
  if w.sum > MAX - amount then amount = 0 end
  local name = int(w.tick)
  redis.call('HSET', w.key, 's', int(w.sum + amount), 'u', name, 'l', name, name, int(w.here + amount))
  -- What this tick took before has set the same end.
  if w.here == 0 then redis.call('PEXPIRE', w.key, int(sliding_end(w, w.tick) - NOW + 1000)) end
end

-- Gives back to the bucket that the reservation was taken from, while the window still holds it.
local function sliding_refund(w, at, amount)
  if w.stale or at <= w.tick - w.span or w.held == nil or w.held == 0 then return end
  local back = math.min(amount, w.held)
  sliding_forget(w)
  if back == w.held then
    redis.call('HDEL', w.key, int(at))
    redis.call('HSET', w.key, 's', int(w.sum - back), 'u', int(w.tick))
  else
    redis.call('HSET', w.key, 's', int(w.sum - back), 'u', int(w.tick), int(at), int(w.held - back))
  end
end

-- Milliseconds until `need` has fallen out of the window, oldest first.
local function sliding_wait(w, need)
  local first = w.tick - w.span + 1
  local ticks, values = {}, {}
  if redis.call('HLEN', w.key) < 64 then
    local all = redis.call('HGETALL', w.key)
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
    for i, value in ipairs(redis.call('HMGET', w.key, unpack(ticks))) do
      need = need - tonumber(value or '0')
      if need <= 0 then return sliding_end(w, ticks[i]) - NOW end
    end
  end
  return sliding_end(w, w.tick) - NOW
end

-- Of three periods in a row, as the caller knows its zone, the one that SEC lies in; nil when none does.
local function zoned(window)
  local a, a_at, b, b_at, c, c_at, stop = string.match(window, '^z(%d+),(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)$')
  a_at, b_at, c_at, stop = tonumber(a_at), tonumber(b_at), tonumber(c_at), tonumber(stop)
  if SEC < a_at or SEC >= stop then return nil end
  if SEC >= c_at then return c, stop end
  if SEC >= b_at then return b, c_at end
  return a, b_at
end

-- One line of a request: `window` is a number of seconds, 'day', 'month', the periods of a zone ('z...') or 'c' for what is
-- open at one moment. Nil: the caller's periods are not those of our time.
local function open_line(base, window, unit, amount, limit)
  local line = { window = window, unit = unit, amount = amount, limit = limit }
  local seconds = tonumber(window)
  if seconds then
    line.w = sliding(base, seconds)
    line.key = base
    line.at = line.w.tick
    line.sum = line.w.sum
  elseif window == 'c' then
    line.open = true
    line.key = base
    line.at = 0
    line.sum = tonumber(redis.call('GET', base) or '0')
  else
    local id, stop
    if string.byte(window) == 122 then
      line.window = 'z'
      id, stop = zoned(window)
      if not id then return nil end
    else
      id, stop = period(window)
    end
    line.key = base .. ':' .. id
    line.at = stop
    local sum = redis.call('GET', line.key)
    line.fresh = not sum
    line.sum = tonumber(sum or '0')
  end
  return line
end

local function line_state(line, taken)
  local reset = 0
  if line.sum + taken > 0 then
    if line.w then
      reset = sliding_end(line.w, taken > 0 and line.w.tick or line.w.last) - NOW
    elseif line.open then
      reset = OPEN_WAIT
    else
      reset = line.at * 1000 - NOW
    end
  end
  return int(math.max(0, line.limit - line.sum - taken)) .. ',' .. int(math.max(0, reset))
end

local function line_wait(line)
  if line.open then return OPEN_WAIT end
  if not line.w then return line.at * 1000 - NOW end
  if line.amount > line.limit then
    if line.sum == 0 then return tonumber(line.window) * 1000 end
    return sliding_end(line.w, line.w.last) - NOW
  end
  return sliding_wait(line.w, line.sum - (line.limit - line.amount))
end

-- `ttl`: how long a record of this operation may be needed.
local function line_take(line, ttl)
  if line.w then
    if line.amount > 0 then sliding_add(line.w, line.amount) end
  elseif line.open then
    if line.amount > 0 then
      redis.call('INCRBY', line.key, int(line.amount))
      redis.call('PEXPIRE', line.key, ttl)
    end
  else
    redis.call('INCRBY', line.key, int(line.amount))
    if line.fresh then redis.call('PEXPIRE', line.key, int((line.at + DAY) * 1000 - NOW)) end
  end
end

local function pack_line(line)
  return line.window .. ' ' .. line.unit .. ' ' .. int(line.amount) .. ' ' .. int(line.at) .. ' ' .. line.key
end

local function calendar_adjust(key, difference)
  local sum = tonumber(redis.call('GET', key) or '')
  -- A period whose key is gone is over for long.
  if sum == nil then return end
  if sum + difference < 0 then difference = -sum end
  if sum > MAX - difference then return end
  redis.call('INCRBY', key, int(difference))
end

-- Ends an operation's part in a counter of what is open.
local function close_line(key, amount)
  local sum = tonumber(redis.call('GET', key) or '0')
  if sum > amount then
    redis.call('DECRBY', key, int(amount))
  else
    redis.call('DEL', key)
  end
end

-- Makes every line of a reservation hold the true amount. `charged` = 0 when the reservation was given back before. `held`:
-- it counts as open until now.
local function replace(reserved, charged, held, requests, tokens, spend)
  for window, unit, amount, at, key in string.gmatch(reserved, '([^; ]+) (%S+) (%S+) (%S+) ([^; ]+)') do
    amount = tonumber(amount)
    if window == 'c' then
      if held and amount > 0 then close_line(key, amount) end
    else
      local actual = unit == 't' and tokens or unit == 'r' and requests or spend
      local difference = actual - amount * charged
      local seconds = tonumber(window)
      if difference ~= 0 and not seconds then
        calendar_adjust(key, difference)
      elseif difference < 0 then
        sliding_refund(sliding(key, seconds, at), tonumber(at), -difference)
      elseif difference > 0 then
        sliding_add(sliding(key, seconds), difference)
      end
    end
  end
end

-- What a lease that runs out gives back even when it is charged.
local function close_lines(reserved)
  for amount, key in string.gmatch(';' .. reserved, ';c %S+ (%S+) %S+ ([^; ]+)') do
    if amount ~= '0' then close_line(key, tonumber(amount)) end
  end
end

-- The record of an operation is one string: its state, then lines of text.
--   held               answer, reservation (packed lines, joined by `;`), event on expiry and its entry (may be empty)
--   charged, released  the same, after the lease ran out
--   denied, settled    answer (empty when there was no admission)
local function read_record(key)
  local text = redis.call('GET', key)
  if not text then return nil end
  local state, answer, reserved, event, entry =
    string.match(text, '^(%l+)\n([^\n]*)\n?([^\n]*)\n?([^\n]*)\n?([^\n]*)$')
  return { state = state, answer = answer, reserved = reserved, event = event, entry = entry }
end

local function write_record(key, ttl, ...)
  redis.call('SET', key, table.concat({ ... }, '\n'), 'PX', ttl)
end
