-- Reads lines without taking anything.
-- KEYS: one counter a line. ARGV: window, limit of each line. Reply: '<remaining>,<reset ms>' of each line.
local states = {}
for i = 1, #KEYS do
  states[i] = line_state(open_line(KEYS[i], ARGV[i * 2 - 1], 'r', 0, tonumber(ARGV[i * 2])), 0)
end
return table.concat(states, '|')
