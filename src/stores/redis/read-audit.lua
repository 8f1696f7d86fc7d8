-- read-audit: the log of one challenge, oldest first.
--
-- KEYS[1]  the gateway's hash tag; audit keys are made from it as in commit.lua
-- ARGV[1]  challengeId
-- Returns  seq, entry as JSON, seq, entry as JSON, …

local log = {}
for _, seq in ipairs(redis.call('LRANGE', KEYS[1] .. ':audit:of:' .. ARGV[1], '0', '-1')) do
  local found = redis.call('XRANGE', KEYS[1] .. ':audit', seq .. '-0', seq .. '-0')[1]
  if found then
    log[#log + 1] = seq
    -- An entry is { id, { 'challenge', challengeId, 'entry', JSON } }.
    log[#log + 1] = found[2][4]
  end
end
return log
