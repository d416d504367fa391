-- Health of a ManagedClustersUpgrade: Tidegate's conditions Ready, Reconciling and Stalled. A pause and a preview are intended.
local status = obj.status or {}
local generation = obj.metadata.generation
if status.observedGeneration ~= nil and generation ~= nil and status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the controllers have not observed this generation yet"}
end

local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
local ready, reconciling, stalled = found.Ready or {}, found.Reconciling or {}, found.Stalled or {}
if reconciling.status == "True" and (reconciling.reason == "Paused" or reconciling.reason == "Preview") then
  return {status = "Suspended", message = reconciling.message}
elseif reconciling.status == "True" then
  return {status = "Progressing", message = reconciling.message}
elseif stalled.status == "True" then
  return {status = "Degraded", message = stalled.message}
elseif ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
return {status = "Progressing", message = ready.message or "the upgrade has not been planned yet"}
