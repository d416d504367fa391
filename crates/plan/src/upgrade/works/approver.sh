# Approves the install plans of subscriptions for WAITTIME seconds, and at least once.
#
# A subscription is written as name,namespace. INCLUDELIST and EXCLUDELIST have such words with blanks between them: nothing of
# EXCLUDELIST is approved, and only what INCLUDELIST has, unless that is empty. Words are compared as wholes. An install plan that
# somebody shares who is not to be upgraded is left alone, because approving it would upgrade both.
set -uf

wanted() {
  local one
  for one in $EXCLUDELIST; do
    if [ "$one" = "$1" ]; then return 1; fi
  done
  if [ -z "$INCLUDELIST" ]; then return 0; fi
  for one in $INCLUDELIST; do
    if [ "$one" = "$1" ]; then return 0; fi
  done
  return 1
}

subscriptions() {
  oc get subscriptions.operators.coreos.com -A \
    -o jsonpath='{range .items[*]}{.metadata.name}{","}{.metadata.namespace}{" "}{.status.installPlanRef.name}{" "}{.status.installPlanRef.namespace}{"\n"}{end}'
}

shared_with_others() {
  local other other_plan other_namespace
  while read -r other other_plan other_namespace; do
    if [ "$other_plan" = "$1" ] && [ "$other_namespace" = "$2" ] && ! wanted "$other"; then
      echo " - Install plan $1 is also that of $other, which is not to be upgraded"
      return 0
    fi
  done <<< "$all"
  return 1
}

approve() {
  local approved
  approved=$(oc get installplans.operators.coreos.com "$1" -n "$2" -o jsonpath='{.spec.approved}') || return 1
  if [ "$approved" != "false" ]; then
    echo " - Install plan $1 is approved"
    return 0
  fi
  echo " - Approving install plan $1"
  oc patch installplans.operators.coreos.com "$1" -n "$2" --type=json \
    -p='[{"op":"replace","path":"/spec/approved","value":true}]'
}

round() {
  local all subscription plan namespace failed=0
  all=$(subscriptions) || return 1
  while read -r subscription plan namespace; do
    if [ -z "$plan" ] || ! wanted "$subscription"; then continue; fi
    echo "Subscription $subscription"
    if shared_with_others "$plan" "$namespace"; then continue; fi
    approve "$plan" "$namespace" || failed=1
  done <<< "$all"
  return "$failed"
}

end=$((SECONDS + WAITTIME))
while true; do
  round
  result=$?
  if [ "$SECONDS" -ge "$end" ]; then break; fi
  sleep "${PAUSE:-10}"
done
exit "$result"
