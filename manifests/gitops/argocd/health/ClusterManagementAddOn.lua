-- Health of a ClusterManagementAddOn. Tidegate summarizes the clusters in conditions; where the hub's CRD has none (OCM's own),
-- status.installProgressions has the state of each placement.
local status = obj.status or {}
local generation = obj.metadata.generation
if status.observedGeneration ~= nil and generation ~= nil and status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the controllers have not observed this generation yet"}
end

local function find(conditions, kind)
  for _, condition in ipairs(conditions or {}) do
    if condition.type == kind then return condition end
  end
end

local function holds(conditions, kind)
  local found = find(conditions, kind)
  return found ~= nil and found.status == "True" and found or nil
end

local ready = find(status.conditions, "Ready")
if ready ~= nil then
  local stalled = holds(status.conditions, "Stalled")
  local reconciling = holds(status.conditions, "Reconciling")
  -- These need an action by a user.
  local asks = {RolloutPaused = true, WaitingForApproval = true}
  if reconciling ~= nil and asks[reconciling.reason] then
    return {status = "Suspended", message = reconciling.message}
  elseif reconciling ~= nil then
    return {status = "Progressing", message = reconciling.message}
  elseif stalled ~= nil then
    return {status = "Degraded", message = stalled.message}
  elseif ready.status == "True" then
    return {status = "Healthy", message = ready.message}
  end
  return {status = "Progressing", message = ready.message}
end

local lifecycle = (obj.metadata.annotations or {})["addon.open-cluster-management.io/lifecycle"] or ""
if lifecycle ~= "" and lifecycle ~= "addon-manager" and lifecycle ~= "tidegate" then
  return {status = "Healthy", message = "the add-on manages itself"}
end
local strategy = obj.spec.installStrategy or {}
if strategy.type ~= "Placements" then
  return {status = "Healthy", message = "no placement installs the add-on"}
end

local progressions = status.installProgressions or {}
if #progressions < #(strategy.placements or {}) then
  return {status = "Progressing", message = "not every placement has been reconciled yet"}
end
local coming = {PlacementNotFound = true, DecisionNotFound = true}
local paused, failed, done
for _, progression in ipairs(progressions) do
  local name = progression.namespace .. "/" .. progression.name .. ": "
  local progressing = find(progression.conditions, "Progressing")
  local stalled = holds(progression.conditions, "Stalled")
  if progressing == nil then
    return {status = "Progressing", message = name .. "not reconciled yet"}
  elseif progressing.observedGeneration ~= nil and generation ~= nil and progressing.observedGeneration < generation then
    return {status = "Progressing", message = name .. "this generation has not been observed yet"}
  elseif holds(progression.conditions, "Paused") then
    paused = paused or (name .. holds(progression.conditions, "Paused").message)
  elseif stalled ~= nil and not coming[stalled.reason] then
    failed = failed or (name .. stalled.message)
  elseif stalled ~= nil then
    return {status = "Progressing", message = name .. stalled.message}
  elseif progressing.status ~= "False" then
    return {status = "Progressing", message = name .. progressing.message}
  else
    done = done or (name .. progressing.message)
  end
end
if paused ~= nil then
  return {status = "Suspended", message = paused}
elseif failed ~= nil then
  return {status = "Degraded", message = failed}
end
return {status = "Healthy", message = done or "the install strategy names no placement"}
