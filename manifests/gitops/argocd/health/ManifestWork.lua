-- Health of a ManifestWork: what the agent of its cluster reports for the current generation.
local status = obj.status or {}
local generation = obj.metadata.generation

local function find(kind)
  for _, condition in ipairs(status.conditions or {}) do
    local seen = condition.observedGeneration
    if condition.type == kind and (seen == nil or generation == nil or seen == generation) then return condition end
  end
  return {}
end

local applied, available, degraded = find("Applied"), find("Available"), find("Degraded")
if applied.status == "False" then
  return {status = "Degraded", message = applied.message}
elseif degraded.status == "True" then
  return {status = "Degraded", message = degraded.message}
elseif applied.status == "True" and (available.status == "True" or find("Complete").status == "True") then
  return {status = "Healthy", message = applied.message}
end
return {status = "Progressing", message = available.message or "the agent has not reported on this generation yet"}
