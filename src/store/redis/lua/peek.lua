-- Reads lines without taking anything.
-- KEYS: one counter a line. ARGV: window, limit of each line.
-- Reply: '<remaining>,<reset ms>' of each line, or 'r,<now>' as in admit.
local states = {}
for i = 1, #KEYS do
  local line = open_line(KEYS[i], ARGV[i * 2 - 1], 'r', 0, tonumber(ARGV[i * 2]))
  if not line then return 'r,' .. int(NOW) end
  states[i] = line_state(line, 0)
end
return table.concat(states, '|')
