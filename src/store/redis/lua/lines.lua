-- Shared by the scripts that ask for limits; put in front of each of them, after the windows.

-- When an open operation will end is not known: ask again after this long (ms).
local OPEN_WAIT = 1000

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

-- The id of the UTC period that SEC lies in, and the second it ends.
local function period(window)
  local day = math.floor(SEC / DAY)
  local y, m, d = civil(day)
  if window == 'day' then
    return format('%04d%02d%02d', y, m, d), (day + 1) * DAY
  end
  local days = 31
  if m == 4 or m == 6 or m == 9 or m == 11 then
    days = 30
  elseif m == 2 then
    days = ((y % 4 == 0 and y % 100 ~= 0) or y % 400 == 0) and 29 or 28
  end
  return format('%04d%02d', y, m), (day - d + 1 + days) * DAY
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

-- Periods that were met, by window: what a key ends with, and the second it ends.
local periods = {}
local function period_of(window)
  local known = periods[window]
  if known then return known end
  local id, stop
  if string.byte(window) == 122 then
    id, stop = zoned(window)
    if not id then return nil end
  else
    id, stop = period(window)
  end
  known = { suffix = ':' .. id, stop = stop }
  periods[window] = known
  return known
end

-- The lines of a request, whose keys begin at KEYS[from] and whose words begin at ARGV[first]: window, unit and limit of each.
-- A window is a number of seconds, 'day', 'month', the periods of a zone ('z...') or 'c' for what is open at one moment.
-- `plain`: keys of strings that are read with those of the lines. Gives the lines and the strings; nil when the caller's
-- periods are not those of our time.
local function open_lines(from, first, plain)
  local lines, before = {}, #plain
  for i = from, #KEYS do
    local a = first + (i - from) * 3
    local window, key = ARGV[a], KEYS[i]
    local line =
      { window = window, unit = ARGV[a + 1], limit = tonumber(ARGV[a + 2]), key = key, sum = 0, w = false, period = false }
    local kind = string.byte(window)
    if kind <= 57 then
      line.w = sliding(key, span_of(window))
      line.sum = line.w.sum
    else
      if kind ~= 99 then
        line.period = period_of(window)
        if not line.period then return nil end
        key = key .. line.period.suffix
        line.key = key
      end
      plain[#plain + 1] = key
    end
    lines[#lines + 1] = line
  end
  if #plain == 0 then return lines, plain end
  local values = call('MGET', unpack(plain))
  local at = before
  for i = 1, #lines do
    local line = lines[i]
    if not line.w then
      at = at + 1
      line.sum = tonumber(values[at]) or 0
      line.fresh = not values[at]
    end
  end
  return lines, values
end

-- What is left on a line after taking so much, and when it is wholly free again (ms).
local function line_state(line, taken)
  local sum, reset = line.sum + taken, 0
  if sum > 0 then
    if line.w then
      reset = sliding_end(line.w, taken > 0 and line.w.tick or line.w.last) - NOW
    elseif line.period then
      reset = line.period.stop * 1000 - NOW
    else
      reset = OPEN_WAIT
    end
  end
  local rest = line.limit - sum
  return rest > 0 and rest or 0, reset > 0 and reset or 0
end
