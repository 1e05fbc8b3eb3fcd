-- Put in front of the scripts that need the time: the only clock is that of Redis.
local TIME = redis.call('TIME')
local SEC = tonumber(TIME[1])
local NOW = SEC * 1000 + math.floor(tonumber(TIME[2]) / 1000)
