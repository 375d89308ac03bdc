
# Names of profiles and elections, which elect itself knows, in front of the words of the grammar.
_elect_names() {
    local name
    while IFS= read -r name; do
        if [[ ${name} == "${cur}"* ]]; then
            COMPREPLY+=("${name}")
        fi
    done < <("${COMP_WORDS[0]}" names "$1" -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null </dev/null)
}

_elect_with_names() {
    local cur="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD-1]}" word
    # `--profile=x` comes as three words.
    if [[ ${cur} == = ]]; then
        cur=""
    elif [[ ${flag} == = && ${COMP_CWORD} -ge 2 ]]; then
        flag="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    COMPREPLY=()
    # What comes after `--` is a command of somebody else's.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ ${word} == -- ]]; then
            return 0
        fi
    done
    case "${flag}" in
        --profile)
            _elect_names profiles
            return 0
            ;;
        --election | -e)
            _elect_names elections
            return 0
            ;;
    esac
    if [[ ${COMP_WORDS[1]} == status && ${COMP_CWORD} -ge 2 && ${cur} != -* && ${flag} != -* ]]; then
        _elect_names elections
        return 0
    fi
    _elect "$@"
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _elect_with_names -o nosort -o bashdefault -o default elect
else
    complete -F _elect_with_names -o bashdefault -o default elect
fi
