-- Shared by the scripts that touch sliding windows; put in front of each of them, after the record.

local MAX = 9007199254740991
-- A window has at most this many buckets besides the current one: one second each up to ten minutes, coarser above.
local BUCKETS = 600
local DAY = 86400

-- Of each window that was met: how wide its buckets are (seconds), how many buckets it is long, the present bucket's number and
-- its name. A bucket counts until it is wholly out of the window, so a window is one bucket longer than its seconds.
local spans = {}
local function span_of(window)
  local span = spans[window]
  if not span then
    local seconds = tonumber(window)
    local width = math.ceil(seconds / BUCKETS)
    local tick = math.floor(SEC / width)
    span = { seconds = seconds, width = width, length = math.ceil(seconds / width) + 1, tick = tick, name = int(tick) }
    spans[window] = span
  end
  return span
end

-- A sliding counter as of now, and what its bucket `at` (a name) holds. Nothing is written. Hash fields: s = sum, u = tick it
-- was advanced to, l = last tick that took something, and one field a tick.
local function sliding(key, span, at)
  local tick, length = span.tick, span.length
  local v
  if at == nil or at == span.name then
    v = call('HMGET', key, 's', 'u', 'l', span.name)
    v[5] = v[4]
  else
    v = call('HMGET', key, 's', 'u', 'l', span.name, at)
  end
  local w =
    { key = key, span = span, tick = tick, sum = 0, last = tick - length, upto = 0, here = 0, held = 0, stale = false }
  local upto = tonumber(v[2])
  if upto == nil then return w end
  if tick - upto >= length then
    w.stale = true
    return w
  end
  w.upto = upto
  w.sum = tonumber(v[1])
  w.last = tonumber(v[3])
  w.held = tonumber(v[5]) or 0
  if upto > tick then
    -- The clock went back: stay where the counter is, or one window would be given out twice.
    w.tick = upto
    w.here = tonumber(call('HGET', key, v[2])) or 0
    return w
  end
  w.here = tonumber(v[4]) or 0
  if tick > upto then
    local old = {}
    for b = upto - length + 1, tick - length do old[#old + 1] = int(b) end
    for i, value in ipairs(call('HMGET', key, unpack(old))) do
      if value then
        w.sum = w.sum - tonumber(value)
        w.gone = w.gone or {}
        w.gone[#w.gone + 1] = old[i]
      end
    end
  end
  return w
end

local function sliding_end(w, tick)
  return (tick + w.span.length) * w.span.width * 1000
end

local function sliding_forget(w)
  if w.stale then
    call('DEL', w.key)
  elseif w.gone then
    call('HDEL', w.key, unpack(w.gone))
  end
end

local function sliding_add(w, amount)
  sliding_forget(w)
  -- Past 2^53 the counter stands still: it is above every limit already.
  if w.sum > MAX - amount then amount = 0 end
  local name = w.tick == w.span.tick and w.span.name or int(w.tick)
  if w.upto == w.tick and w.last == w.tick then
    call('HSET', w.key, 's', int(w.sum + amount), name, int(w.here + amount))
  else
    call('HSET', w.key, 's', int(w.sum + amount), 'u', name, 'l', name, name, int(w.here + amount))
  end
  -- What this tick took before has set the same end.
  if w.here == 0 then call('PEXPIRE', w.key, int(sliding_end(w, w.tick) - NOW + 1000)) end
end
