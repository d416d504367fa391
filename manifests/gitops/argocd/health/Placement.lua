-- Health of a Placement: whether it has been decided. No matching cluster is a decision, too.
local status = obj.status or {}

local function find(kind)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == kind then return condition end
  end
  return {}
end

local misconfigured, satisfied = find("PlacementMisconfigured"), find("PlacementSatisfied")
local decided = {NoManagedClusterMatched = true, AllManagedClusterSetsEmpty = true}
if misconfigured.status == "True" then
  return {status = "Degraded", message = misconfigured.message}
elseif satisfied.status == "True" or (satisfied.status == "False" and decided[satisfied.reason]) then
  return {status = "Healthy", message = satisfied.message}
end
return {status = "Progressing", message = satisfied.message or "the placement has not been decided yet"}
