-- Calls that were admitted are told again, after Redis may have lost them. What is known already is not counted twice.
--
-- KEYS: one window of calls. ARGV: its span in microseconds, then the times, oldest first.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local span, told = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
    -- By a clock that is ahead of this one: it was just now.
    local at = math.min(tonumber(ARGV[i]), now + i)
    if at + span > now then
        told[#told + 1] = string.format('%.0f', at)
    end
end
if #told == 0 then return 0 end

local newest, added = redis.call('LINDEX', KEYS[1], -1), 0
if not newest or tonumber(newest) < tonumber(told[1]) then
    redis.call('RPUSH', KEYS[1], unpack(told))
    added = #told
else
    local known, times = {}, redis.call('LRANGE', KEYS[1], 0, -1)
    for _, at in ipairs(times) do
        known[at] = true
    end
    for _, at in ipairs(told) do
        if not known[at] then
            known[at] = true
            times[#times + 1] = at
            added = added + 1
        end
    end
    if added > 0 then
        table.sort(times, function(one, other) return tonumber(one) < tonumber(other) end)
        redis.call('DEL', KEYS[1])
        for first = 1, #times, 1000 do
            redis.call('RPUSH', KEYS[1], unpack(times, first, math.min(first + 999, #times)))
        end
    end
end
redis.call('PEXPIRE', KEYS[1], span / 1000 + 1000)
return added
