-- Health of an AddOnPolicy: whether this generation compiles and is enforced.
local status = obj.status or {}
local generation = obj.metadata.generation
if status.observedGeneration ~= nil and generation ~= nil and status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the webhook has not loaded this generation yet"}
end

local function find(kind)
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == kind then return condition end
  end
  return {}
end

local compiled, ready = find("Compiled"), find("Ready")
if compiled.status == "False" then
  return {status = "Degraded", message = compiled.message}
elseif ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
return {status = "Progressing", message = ready.message or "the webhook has not compiled the policy yet"}
