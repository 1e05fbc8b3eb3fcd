-- Is this still the state that the caller knows? Notes a loss, and lets the time go on.
-- KEYS: epoch. ARGV: id and time that the caller knows ('' = nothing), a fresh id, ms of a step back that is no loss, ms between
-- two notes of the time, ms to keep it.
-- Reply: id, time, kind of the loss or '', when it was noticed, what is held up to, answer or '', ms that it stepped back.
local names = { 'id', 'at', 'loss', 'loss_at', 'held', 'answer', 'after', 'lost_ids' }
local e = {}
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do e[names[i]] = value or '' end

local function note(...)
  redis.call('HSET', KEYS[1], ...)
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
end

local function among(list, id)
  return string.find(' ' .. list .. ' ', ' ' .. id .. ' ', 1, true) ~= nil
end

local known, known_at = ARGV[1], tonumber(ARGV[2]) or 0
local now = string.format('%d', NOW)
local lost, stepped = nil, 0
if e.id == '' then
  e.id, e.at = ARGV[3], now
  note('id', e.id, 'at', now)
  lost = known ~= '' and 'missing'
elseif known == e.id then
  stepped = math.max(0, known_at - tonumber(e.at))
  lost = stepped > tonumber(ARGV[4]) and 'older'
elseif known ~= '' and not among(e.after, known) then
  lost = 'replaced'
end
if lost then
  if not among(e.lost_ids, known) then e.lost_ids = e.lost_ids == '' and known or e.lost_ids .. ' ' .. known end
  if e.loss == '' then
    e.loss, e.loss_at, e.held = lost, now, lost == 'older' and e.at or '0'
  end
  note('loss', e.loss, 'loss_at', e.loss_at, 'held', e.held, 'lost_ids', e.lost_ids)
end
-- Who knows nothing must not hide a step back from those who do.
if known == e.id and NOW - tonumber(e.at) >= tonumber(ARGV[5]) then
  e.at = now
  note('at', now)
end
return { e.id, e.at, e.loss, e.loss_at, e.held, e.answer, string.format('%d', stepped) }
