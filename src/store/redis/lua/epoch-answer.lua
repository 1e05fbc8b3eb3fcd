-- Ends a loss: a new epoch begins, which those who know the ones before it accept.
-- KEYS: epoch. ARGV: fresh id, answer (JSON), ids remembered, ms to keep it.
if (redis.call('HGET', KEYS[1], 'loss') or '') == '' then return 0 end
local before = {}
for _, name in ipairs({ 'id', 'lost_ids', 'after' }) do
  for id in string.gmatch(redis.call('HGET', KEYS[1], name) or '', '%S+') do
    if #before < tonumber(ARGV[3]) then before[#before + 1] = id end
  end
end
redis.call('HDEL', KEYS[1], 'loss', 'loss_at', 'held', 'lost_ids')
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'at', string.format('%d', NOW), 'after', table.concat(before, ' '), 'answer', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
