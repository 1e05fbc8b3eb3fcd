-- Shared by the scripts that book events; put in front of each of them, after the counters.
-- An entry says what an event adds to the sums, in fields between tabs: hour, day (unix seconds of their starts), requests,
-- prompt, cached and completion tokens, cost, then the row's name in two halves (a JSON array without its brackets; the second
-- half is charged_to and currency), then its member among the dearest requests (may be empty).

-- Rows of one hour or day; what comes after them is added up under `*`.
local ROWS = 5000
local DEAREST = 200
local HOURS_MS = 40 * DAY * 1000
local DAYS_MS = 400 * DAY * 1000

local function clamp(n)
  return n > MAX and MAX or n < -MAX and -MAX or n
end

local function add_row(key, ttl, head, tail, requests, prompt, cached, completion, cost)
  local row = '[' .. head .. ',' .. tail .. ']'
  local text = redis.call('HGET', key, row)
  local first = false
  if not text then
    local rows = redis.call('HLEN', key)
    first = rows == 0
    if rows >= ROWS then
      row = '["*","*","*","*",' .. tail .. ']'
      text = redis.call('HGET', key, row)
    end
  end
  if text then
    local r, p, c, o, m = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    requests, prompt, cached = clamp(requests + r), clamp(prompt + p), clamp(cached + c)
    completion, cost = clamp(completion + o), clamp(cost + m)
  end
  redis.call('HSET', key, row, string.format('%d %d %d %d %d', requests, prompt, cached, completion, cost))
  if first then redis.call('PEXPIRE', key, int(ttl)) end
end

local function add_dearest(key, sign, cost, member)
  if sign < 0 then
    redis.call('ZREM', key, member)
    return
  end
  redis.call('ZADD', key, int(cost), member)
  local size = redis.call('ZCARD', key)
  if size > DEAREST then
    redis.call('ZREMRANGEBYRANK', key, 0, size - DEAREST - 1)
  elseif size == 1 then
    redis.call('PEXPIRE', key, int(DAYS_MS))
  end
end

-- Writes an event into the ledger and into the sums, under a number that counts all that were ever booked for the tenant.
-- `prefix`: of the keys of the sums.
local function book(ledger, limit, prefix, kind, event, entry)
  local number = int(redis.call('INCR', ledger .. ':n'))
  redis.call('XADD', ledger, 'MAXLEN', '~', limit, '*', 'k', kind, 'e', event, 'n', number)
  local hour, day, requests, prompt, cached, completion, cost, head, tail, member = string.match(
    entry,
    '^(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)\t([^\t]+)\t([^\t]+)\t([^\t]*)$'
  )
  -- A record of an older version has none.
  if not hour then return end
  local sign = kind == 'reversal' and -1 or 1
  requests, prompt, cached = sign * requests, sign * prompt, sign * cached
  completion, cost = sign * completion, sign * cost
  add_row(prefix .. 'h:' .. hour, HOURS_MS, head, tail, requests, prompt, cached, completion, cost)
  add_row(prefix .. 'd:' .. day, DAYS_MS, head, tail, requests, prompt, cached, completion, cost)
  if member ~= '' then add_dearest(prefix .. 'top:' .. day, sign, cost, member) end
end

-- The number must live as long as what it numbers.
local function keep_ledger(ledger, ttl)
  redis.call('PEXPIRE', ledger, ttl)
  redis.call('PEXPIRE', ledger .. ':n', ttl)
end
