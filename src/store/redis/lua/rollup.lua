-- Shared by the scripts that book events; put in front of each of them, after the windows.
-- An entry says what an event adds to the sums: hour, day (unix seconds of their starts), requests, prompt, cached and completion
-- tokens, cost, then the row's name in two halves (a JSON array without its brackets; the second half is charged_to and
-- currency), then its member among the dearest requests (may be empty).

-- Rows of one hour or day; what comes after them is added up under `*`.
local ROWS = 5000
local DEAREST = 200
local HOURS_MS = 40 * DAY * 1000
local DAYS_MS = 400 * DAY * 1000

local function clamp(n)
  return n > MAX and MAX or n < -MAX and -MAX or n
end

local function add_row(key, ttl, row, tail, requests, prompt, cached, completion, cost)
  local text = call('HGET', key, row)
  local first = false
  if not text then
    local rows = call('HLEN', key)
    first = rows == 0
    if rows >= ROWS then
      row = '["*","*","*","*",' .. tail .. ']'
      text = call('HGET', key, row)
    end
  end
  if text then
    local r, p, c, o, m = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    requests, prompt, cached = clamp(requests + r), clamp(prompt + p), clamp(cached + c)
    completion, cost = clamp(completion + o), clamp(cost + m)
  end
  call('HSET', key, row, format('%d %d %d %d %d', requests, prompt, cached, completion, cost))
  if first then call('PEXPIRE', key, int(ttl)) end
end

local function add_dearest(key, sign, cost, member)
  if sign < 0 then
    call('ZREM', key, member)
    return
  end
  local size = call('ZCARD', key)
  if size >= DEAREST then
    -- Most requests are none of the dearest, and of equal ones the earlier stay.
    local least = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if cost <= tonumber(least[2]) then return end
  end
  call('ZADD', key, int(cost), member)
  if size >= DEAREST then
    call('ZREMRANGEBYRANK', key, 0, -DEAREST - 1)
  elseif size == 0 then
    call('PEXPIRE', key, int(DAYS_MS))
  end
end

-- Adds an entry to the sums (`sign` 1), or takes it back (-1). `prefix`: of the keys of the sums.
local function add_up(prefix, sign, hour, day, requests, prompt, cached, completion, cost, head, tail, member)
  requests, prompt, cached = sign * requests, sign * prompt, sign * cached
  completion, cost = sign * completion, sign * cost
  local row = '[' .. head .. ',' .. tail .. ']'
  add_row(prefix .. 'h:' .. hour, HOURS_MS, row, tail, requests, prompt, cached, completion, cost)
  add_row(prefix .. 'd:' .. day, DAYS_MS, row, tail, requests, prompt, cached, completion, cost)
  if member ~= '' then add_dearest(prefix .. 'top:' .. day, sign, cost, member) end
end

-- Writes an event into the ledger, under a number that counts all that were ever booked for the tenant.
local function book(ledger, limit, kind, event)
  local number = call('INCR', ledger .. ':n')
  call('XADD', ledger, 'MAXLEN', '~', limit, '*', 'k', kind, 'e', event, 'n', int(number))
end

-- Books an event and adds its entry up, as an operation's record has them: fields between tabs.
local function book_text(ledger, limit, prefix, kind, event, entry)
  book(ledger, limit, kind, event)
  local fields = {}
  for field in string.gmatch(entry, '([^\t]*)\t?') do fields[#fields + 1] = field end
  -- A record of an older version has none.
  if #fields < 10 then return end
  add_up(prefix, kind == 'reversal' and -1 or 1, unpack(fields, 1, 10))
end

-- Both live as long: the number must not go before what it numbers. A day more or less of so many does not matter.
local function keep_ledger(ledger, ttl)
  local ms = tonumber(ttl)
  if call('PTTL', ledger) > ms - DAY * 1000 then return end
  call('PEXPIRE', ledger, ttl)
  call('PEXPIRE', ledger .. ':n', ttl)
end
