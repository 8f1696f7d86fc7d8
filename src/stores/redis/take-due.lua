-- take-due: takes the rows that are due, the oldest first, equals by the bytes of their keys (the order of a sorted
-- set), postpones each and gives it a new version, so that an earlier holder can no longer write it.
--
-- KEYS[1]  the gateway's hash tag; row and due keys are made from it as in commit.lua
-- ARGV[1]  table
-- ARGV[2]  take what is due at this time or before
-- ARGV[3]  the new dueAt
-- ARGV[4]  how many at most, at least 1
-- Returns  key, stored value, key, stored value, …: as they are now

local due = KEYS[1] .. ':due:' .. ARGV[1]
local rows = KEYS[1] .. ':row:' .. ARGV[1] .. ':'
local taken = {}
for _, key in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[2], 'LIMIT', '0', ARGV[4])) do
  local stored = redis.call('GET', rows .. key)
  if stored then
    local first = string.find(stored, '\0', 1, true)
    local second = string.find(stored, '\0', first + 1, true)
    local version = string.format('%.0f', tonumber(string.sub(stored, 1, first - 1)) + 1)
    local value = version .. '\0' .. ARGV[3] .. string.sub(stored, second)
    redis.call('SET', rows .. key, value)
    redis.call('ZADD', due, ARGV[3], key)
    taken[#taken + 1] = key
    taken[#taken + 1] = value
  else
    -- Only a server that evicts keys can have lost the row; the rows after it must not wait for ever.
    redis.call('ZREM', due, key)
  end
end
return taken
