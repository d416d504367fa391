# The preview of a take-over lists exactly the works that change, for all add-ons of tests/corpus at once.
for replica in 1 2; do stop_process "controllers-$replica"; done
stock_manager
prepare_corpus
folders=()
for shape in "$REAL_ROOT"/tests/corpus/*/; do
  # twokeys needs the flag --hub-permission-namespaces.
  case $(basename "$shape") in expected | differences | twokeys) continue ;; esac
  folders+=("$shape")
  for file in "$shape"*.yaml; do
    if ! head -n 1 "$file" | grep -q '^# Refused'; then kubectl apply -f "$file" >/dev/null; fi
  done
done
works() { kubectl get manifestworks -A -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.uid} {.metadata.generation}{"\n"}{end}' | sort; }
same_for_ten_seconds() {
  local earlier
  earlier=$(works)
  sleep 10
  [ -n "$earlier" ] && [ "$earlier" = "$(works)" ]
}
for _ in $(seq 12); do if same_for_ten_seconds; then break; fi; done
tidegate plan --take-over --live >&2 || true
tidegate plan --take-over --live -o json >"$STORY_FOLDER/preview" || true
predicted=$(awk -F '"' '/^ *"fate": / {fate = NR} /^ *"name": / && NR == fate + 1 {name = $4} /^ *"namespace": / && NR == fate + 2 {print $4 "/" name}' \
  "$STORY_FOLDER/preview" | sort)
[ -n "$predicted" ] || fail "the preview lists no work"
before=$(works)
stop_process stock
for replica in 1 2; do tidegate_process "controllers-$replica" tidegate-controllers; done
sleep 15
for _ in $(seq 12); do if same_for_ten_seconds; then break; fi; done
changed=$(diff <(printf '%s\n' "$before") <(works) | awk '/^[<>]/ {print $2}' | sort -u || true)
say "$(wc -l <<<"$before") works, $(wc -l <<<"$changed") changed"
diff <(printf '%s\n' "$predicted") <(printf '%s\n' "$changed") >&2 || fail "the works that changed are not those of the preview"
remove_folders "${folders[@]}"
kubectl delete namespace corpus --timeout=60s >/dev/null
kubectl label managedcluster cluster1 env- >/dev/null
