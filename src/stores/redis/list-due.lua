-- list-due: the rows that have a time at which they are due, the oldest first, equals by the bytes of their keys.
--
-- KEYS[1]  the gateway's hash tag; row and due keys are made from it as in commit.lua
-- ARGV[1]  table
-- ARGV[2]  how many to leave out at the beginning
-- ARGV[3]  how many at most, at least 1
-- Returns  key, stored value, key, stored value, …

local rows = KEYS[1] .. ':row:' .. ARGV[1] .. ':'
local found = {}
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1] .. ':due:' .. ARGV[1], '-inf', '+inf', 'LIMIT', ARGV[2], ARGV[3])) do
  local stored = redis.call('GET', rows .. key)
  if stored then
    found[#found + 1] = key
    found[#found + 1] = stored
  end
end
return found
