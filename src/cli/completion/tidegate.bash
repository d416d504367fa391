# Completion of tidegate for bash: source <(tidegate completion bash)
_tidegate() {
  local line files=1
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :4) files=0 ;;
      :*) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if ((files)); then
    compopt -o default 2>/dev/null
  fi
}
complete -F _tidegate tidegate
