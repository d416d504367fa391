# Completion of tidegate for fish: tidegate completion fish | source
function __tidegate_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$answer[-1]" = ":4"
        printf '%s\n' $answer[1..-2]
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c tidegate -f -a '(__tidegate_complete)'
