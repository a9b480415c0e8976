# fish completion for krmcat
function __krmcat_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    if string match -q -- '-*' "$current"
        set before $before "$current"
    end
    command $before --generate-bash-completion 2>/dev/null
end
complete -c krmcat -a '(__krmcat_complete)'
