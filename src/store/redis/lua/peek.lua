-- Reads lines without taking anything.
-- KEYS: one counter a line. ARGV: window, unit, limit of each line.
-- Reply: '|<remaining>,<reset ms>' of each line, or 'r,<now>' as in admit.
local lines = open_lines(1, 1, {})
if not lines then return 'r,' .. int(NOW) end
local states = {}
for i = 1, #lines do
  states[2 * i - 1], states[2 * i] = line_state(lines[i], 0)
end
return format(string.rep('|%d,%d', #lines), unpack(states))
