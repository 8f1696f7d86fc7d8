-- commit: applies many steps in order. Each step is applied whole, or not at all if one of its rows no longer has
-- the version that its caller read. One script call is atomic for everybody else, and one wait for the disk.
--
-- KEYS[1]  the gateway's hash tag, e.g. {svc:default}. All keys are made from it, so all are in one cluster slot:
--            <tag>:row:<table>:<key>   string   a row (see stored-value.ts)
--            <tag>:due:<table>         zset     key of each row that has a dueAt, scored by it
--            <tag>:ref:<table>:<ref>   zset     keys of the rows of a group, all scored 0: in the order of their bytes
--            <tag>:audit               stream   all entries; the id is <seq>-0
--            <tag>:audit:seq           string   the last seq given
--            <tag>:audit:of:<id>       list     the seqs of one challenge
-- ARGV     for each step:
--            number of writes, number of audit entries,
--            for each write:  table, key, version that must be stored ('0': no row), new dueAt ('': none),
--                             new ref ('': none, else '=' and the ref), new value ('': remove the row)
--            for each entry:  challengeId, the entry as JSON
-- Returns  for each step: 0 if it was applied, or the number (from 1) of the first write that forbids it.

local tag = KEYS[1]
local WRITE_ARGS, AUDIT_ARGS = 6, 2

-- The head of a stored row: version, dueAt, ref.
local function head(value)
  local first = string.find(value, '\0', 1, true)
  local second = string.find(value, '\0', first + 1, true)
  local third = string.find(value, '\0', second + 1, true)
  return string.sub(value, 1, first - 1),
    string.sub(value, first + 1, second - 1),
    string.sub(value, second + 1, third - 1)
end

local function setDue(tableName, key, old, new)
  if new == old then return end
  if new ~= '' then
    redis.call('ZADD', tag .. ':due:' .. tableName, new, key)
  else
    redis.call('ZREM', tag .. ':due:' .. tableName, key)
  end
end

local function setRef(tableName, key, old, new)
  if new == old then return end
  local group = tag .. ':ref:' .. tableName .. ':'
  if old ~= '' then redis.call('ZREM', group .. string.sub(old, 2), key) end
  if new ~= '' then redis.call('ZADD', group .. string.sub(new, 2), '0', key) end
end

local results = {}
local at = 1
while at <= #ARGV do
  local writes, entries = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local firstWrite = at + 2
  local firstEntry = firstWrite + writes * WRITE_ARGS
  at = firstEntry + entries * AUDIT_ARGS

  local stale = 0
  local oldDue, oldRef = {}, {}
  for write = 1, writes do
    local arg = firstWrite + (write - 1) * WRITE_ARGS
    local stored = redis.call('GET', tag .. ':row:' .. ARGV[arg] .. ':' .. ARGV[arg + 1])
    local version, due, ref = '0', '', ''
    if stored then version, due, ref = head(stored) end
    if version ~= ARGV[arg + 2] then
      stale = write
      break
    end
    oldDue[write], oldRef[write] = due, ref
  end

  if stale == 0 then
    for write = 1, writes do
      local arg = firstWrite + (write - 1) * WRITE_ARGS
      local tableName, key, value = ARGV[arg], ARGV[arg + 1], ARGV[arg + 5]
      if value == '' then
        redis.call('DEL', tag .. ':row:' .. tableName .. ':' .. key)
      else
        redis.call('SET', tag .. ':row:' .. tableName .. ':' .. key, value)
      end
      setDue(tableName, key, oldDue[write], ARGV[arg + 3])
      setRef(tableName, key, oldRef[write], ARGV[arg + 4])
    end
    for entry = 1, entries do
      local arg = firstEntry + (entry - 1) * AUDIT_ARGS
      -- %.0f: Lua's own way writes large numbers as 1e+14.
      local seq = string.format('%.0f', redis.call('INCR', tag .. ':audit:seq'))
      redis.call('XADD', tag .. ':audit', seq .. '-0', 'challenge', ARGV[arg], 'entry', ARGV[arg + 1])
      redis.call('RPUSH', tag .. ':audit:of:' .. ARGV[arg], seq)
    end
  end
  results[#results + 1] = stale
end
return results
