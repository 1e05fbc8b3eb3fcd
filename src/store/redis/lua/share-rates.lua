-- Shares rates out among holders. KEYS: a hash a rate. ARGV: holder, ms that a silent holder keeps its share, ms for which a table
-- that begins empty gives nothing new, ms to keep tables; then for each rate: the rate, what the holder could use, what it
-- goes by now. All amounts are whole thousandths of a unit a second. Gives the new shares.
local HOLDER = ARGV[1]
local KEEP, SETTLE, TTL = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local function parse(text)
  local reserved, demand, till = string.match(text, '^(%d+) (%d+) (%d+)$')
  return { reserved = tonumber(reserved), demand = tonumber(demand), till = tonumber(till) }
end

-- The most that anybody may have, where demands are more than there is; else nil, and what is left over.
local function levelOf(rate, demands)
  table.sort(demands)
  local left = rate
  for at, demand in ipairs(demands) do
    local fair = math.floor(left / (#demands - at + 1))
    if demand > fair then return fair, 0 end
    left = left - demand
  end
  return nil, left
end

local function renew(key, rate, demand, held)
  local since, seen, members = NOW, NOW, {}
  local fields = redis.call('HGETALL', key)
  for at = 1, #fields, 2 do
    if fields[at] == 'since' then since = tonumber(fields[at + 1])
    elseif fields[at] == 'seen' then seen = tonumber(fields[at + 1])
    else members[string.sub(fields[at], 3)] = parse(fields[at + 1]) end
  end
  -- Time in which nobody could renew does not count.
  local gap = 0
  if NOW - seen > KEEP / 2 then gap = NOW - seen end
  local others, demands = 0, { demand }
  for name, member in pairs(members) do
    if name ~= HOLDER then
      local till = member.till + gap
      if till <= NOW then
        redis.call('HDEL', key, 'm:' .. name)
      else
        others = others + member.reserved
        demands[#demands + 1] = member.demand
        if gap > 0 then
          redis.call('HSET', key, 'm:' .. name, string.format('%.0f %.0f %.0f', member.reserved, member.demand, till))
        end
      end
    end
  end
  local level, over = levelOf(rate, demands)
  local wanted = demand
  if level and level < demand then wanted = level end
  -- Half of what nobody needs is shared out, the other half is there at once for who comes next.
  wanted = wanted + math.floor(over / 2 / #demands)
  if NOW < since + SETTLE then wanted = held end
  local share = math.max(0, math.min(wanted, rate - others))
  redis.call('HSET', key, 'since', string.format('%.0f', since), 'seen', string.format('%.0f', NOW), 'm:' .. HOLDER,
    string.format('%.0f %.0f %.0f', math.max(share, held), demand, NOW + KEEP))
  redis.call('PEXPIRE', key, TTL)
  return share
end

local shares = {}
for at, key in ipairs(KEYS) do
  local base = 4 + (at - 1) * 3
  shares[at] = renew(key, tonumber(ARGV[base + 1]), tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3]))
end
return shares
