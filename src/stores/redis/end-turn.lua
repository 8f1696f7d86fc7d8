-- end-turn: ends a turn, unless it lapsed and somebody else has the next one now.
--
-- KEYS[1]  the turn
-- ARGV[1]  its holder's token
-- Returns  1, or 0 if it was no longer the holder's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
