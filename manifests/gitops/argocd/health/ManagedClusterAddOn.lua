-- Health of a ManagedClusterAddOn. Tidegate summarizes its state in Ready, Reconciling and Stalled; OCM's add-on manager and
-- self-managed add-ons do not.
local status = obj.status or {}
local generation = obj.metadata.generation
if status.observedGeneration ~= nil and generation ~= nil and status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the controllers have not observed this generation yet"}
end

local function find(kind)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == kind then return condition end
  end
  return {}
end

local ready, reconciling, stalled = find("Ready"), find("Reconciling"), find("Stalled")
if ready.status ~= nil then
  -- These need an action by a user.
  local asks = {RolloutPaused = true, WaitingForApproval = true}
  if reconciling.status == "True" and asks[reconciling.reason] then
    return {status = "Suspended", message = reconciling.message}
  elseif reconciling.status == "True" then
    return {status = "Progressing", message = reconciling.message}
  elseif stalled.status == "True" then
    return {status = "Degraded", message = stalled.message}
  elseif ready.status == "True" then
    return {status = "Healthy", message = ready.message}
  end
  return {status = "Progressing", message = ready.message}
end

local progressing, available = find("Progressing"), find("Available")
local applied, degraded = find("ManifestApplied"), find("Degraded")
local failures = {
  InstallFailed = true, UpgradeFailed = true, RollbackFailed = true, Failed = true, ConfigurationUnsupported = true,
}
local refusals = {AddonManifestAppliedFailed = true, AddonWorkApplyFailed = true}
if progressing.status == "True" then
  return {status = "Progressing", message = progressing.message}
elseif progressing.status == "False" and failures[progressing.reason] then
  return {status = "Degraded", message = progressing.message}
elseif applied.status == "False" and refusals[applied.reason] then
  return {status = "Degraded", message = applied.message}
elseif degraded.status == "True" then
  return {status = "Degraded", message = degraded.message}
elseif progressing.status == "False" and string.find(progressing.reason or "", "^WaitingFor") then
  return {status = "Progressing", message = progressing.message}
elseif available.status == "True" then
  return {status = "Healthy", message = available.message}
end
return {status = "Progressing", message = available.message or "the agent has not been reported as available"}
