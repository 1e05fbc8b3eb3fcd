-- Shared by the scripts that end operations; put in front of each of them, after the windows.

-- What an admission took: window, unit, amount, bucket and key of each line, one after the other, in a list that may have one
-- member more. Older versions wrote it as words, lines joined by `;`.
local function reserved_of(text)
  if string.byte(text) == 91 then return cjson.decode(text) end
  local list = {}
  for window, unit, amount, at, key in string.gmatch(text, '([^; ]+) (%S+) (%S+) (%S+) ([^; ]+)') do
    local n = #list
    list[n + 1], list[n + 2], list[n + 3], list[n + 4], list[n + 5] = window, unit, tonumber(amount), tonumber(at), key
  end
  return list
end

-- Gives back to the bucket that the reservation was taken from, while the window still holds it. `name`: the bucket's.
local function sliding_refund(w, at, name, amount)
  if w.stale or at <= w.tick - w.span.length or w.held == 0 then return end
  local back = math.min(amount, w.held)
  sliding_forget(w)
  if back == w.held then
    call('HDEL', w.key, name)
    call('HSET', w.key, 's', int(w.sum - back), 'u', int(w.tick))
  elseif w.upto == w.tick then
    call('HSET', w.key, 's', int(w.sum - back), name, int(w.held - back))
  else
    call('HSET', w.key, 's', int(w.sum - back), 'u', int(w.tick), name, int(w.held - back))
  end
end

-- A difference on a counter of a period that holds `sum`; nil: the period is over for long.
local function period_adjust(key, sum, difference)
  if sum == nil then return end
  if sum + difference < 0 then difference = -sum end
  if sum > MAX - difference then return end
  call('INCRBY', key, int(difference))
end

-- Ends an operation's part in a counter of what is open.
local function open_adjust(key, sum, amount)
  if (sum or 0) > amount then
    call('DECRBY', key, int(amount))
  else
    call('DEL', key)
  end
end

-- Makes every line of a reservation hold the true amounts, by unit. `charged` = 0 when the reservation was given back before.
-- `held`: it counts as open until now. `actual` nil: only what is open is given back.
local function replace(text, charged, held, actual)
  local list = reserved_of(text)
  local keys, ends, differences = {}, {}, {}
  for i = 1, #list - 4, 5 do
    local window, amount, key = list[i], list[i + 2], list[i + 4]
    if window == 'c' then
      if held and amount > 0 then
        local n = #keys + 1
        keys[n], ends[n], differences[n] = key, open_adjust, amount
      end
    elseif actual then
      local difference = actual[list[i + 1]] - amount * charged
      if difference ~= 0 then
        local kind = string.byte(window)
        if kind > 57 then
          local n = #keys + 1
          keys[n], ends[n], differences[n] = key, period_adjust, difference
        elseif difference < 0 then
          local span, at = span_of(window), list[i + 3]
          local name = at == span.tick and span.name or int(at)
          sliding_refund(sliding(key, span, name), at, name, -difference)
        else
          sliding_add(sliding(key, span_of(window)), difference)
        end
      end
    end
  end
  if #keys == 0 then return end
  local sums = call('MGET', unpack(keys))
  for i = 1, #keys do ends[i](keys[i], tonumber(sums[i]), differences[i]) end
end
