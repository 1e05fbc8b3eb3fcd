-- Shared by the scripts that read or write the record of an operation; put in front of each of them, after the clock.
-- Every number of ours is a whole number below 2^53, which a double holds exactly. `..` prints only 14 digits, and what
-- redis.call() prints by itself is exact but slow: numbers become text through int().

-- Looked up once: a name of the globals costs two look-ups each time.
local call, tonumber, format = redis.call, tonumber, string.format

local function int(n)
  return format('%d', n)
end

-- The record of an operation is one string: its state, then lines of text.
--   held               answer, reservation, event on expiry and its entry (may be empty)
--   charged, released  the same, after the lease ran out
--   denied, settled    answer (empty when there was no admission)
-- Plain searches: patterns go by the character, and events are long.
local function line_of(text, from)
  local stop = string.find(text, '\n', from, true)
  if stop then return string.sub(text, from, stop - 1), stop + 1 end
  return string.sub(text, from), #text + 1
end

-- `text`: false when there is none.
local function read_record(text)
  if not text then return nil end
  local record = { text = text }
  local answer, reserved
  record.state, answer = line_of(text, 1)
  record.answer, reserved = line_of(text, answer)
  record.reserved, record.rest = line_of(text, reserved)
  return record
end

-- What the operation costs when its lease runs out: the event and its entry.
local function expiry_of(record)
  local event, entry = line_of(record.text, record.rest)
  return event, (line_of(record.text, entry))
end

local function write_record(key, ttl, ...)
  call('SET', key, table.concat({ ... }, '\n'), 'PX', ttl)
end
