#compdef tidegate
# Completion of tidegate for zsh: source <(tidegate completion zsh)
_tidegate() {
  local line files=1
  local -a proposals
  for line in "${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :4) files=0 ;;
      :*) ;;
      *$'\t'*) proposals+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) proposals+=("${line//:/\\:}") ;;
    esac
  done
  if ((files)); then
    _files
  else
    _describe 'tidegate' proposals
  fi
}
if [ "${funcstack[1]}" = "_tidegate" ]; then
  _tidegate
else
  compdef _tidegate tidegate
fi
