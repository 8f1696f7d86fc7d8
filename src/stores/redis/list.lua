-- list: the rows of a group, in the order of the bytes of their keys (all have the same score).
--
-- KEYS[1]  the gateway's hash tag; row and ref keys are made from it as in commit.lua
-- ARGV[1]  table
-- ARGV[2]  ref
-- Returns  key, stored value, key, stored value, …

local rows = KEYS[1] .. ':row:' .. ARGV[1] .. ':'
local found = {}
for _, key in ipairs(redis.call('ZRANGE', KEYS[1] .. ':ref:' .. ARGV[1] .. ':' .. ARGV[2], '0', '-1')) do
  local stored = redis.call('GET', rows .. key)
  if stored then
    found[#found + 1] = key
    found[#found + 1] = stored
  end
end
return found
