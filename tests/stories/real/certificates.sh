# The certificate of the webhook is removed from its Secret: a new one is created, served and trusted without a restart.
serial() { kubectl get secret tidegate-tls -n tidegate -o 'jsonpath={.data.tls\.crt}' | base64 -d | openssl x509 -noout -serial; }
served() { echo | openssl s_client -connect "$(kubectl get service tidegate -n tidegate -o 'jsonpath={.spec.clusterIP}'):443" 2>/dev/null | openssl x509 -noout -serial; }
old=$(serial)
is "$old" served
kubectl patch secret tidegate-tls -n tidegate --type merge -p '{"data":{"tls.crt":"","tls.key":""}}' >/dev/null
renewed() {
  local new
  # Until there is a new certificate, the Secret is empty.
  new=$(serial 2>/dev/null) && [ -n "$new" ] && [ "$new" != "$old" ] && echo renewed
}
until_is renewed renewed
until_is "$(serial)" served
say "the API server trusts it: an invalid add-on is rejected"
denied() { kubectl apply --dry-run=server -f "$root/manifests/examples/wrong/01-rollout.yaml" 2>&1 | grep -o 'is invalid' | head -n 1; }
until_is "is invalid" denied
