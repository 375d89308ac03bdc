
# Names of profiles and elections, which elect itself knows, in front of the words of the grammar.
#
# Bash ends a word at each colon, too: puts together again what no space separates.
_elect_words() {
    local rest="${COMP_LINE:0:COMP_POINT}" word gap last=-1
    words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        gap="${rest%%[![:space:]]*}"
        rest="${rest#"${gap}"}"
        rest="${rest#"${word}"}"
        if [[ -z ${gap} && ${last} -ge 0 && -n ${COMP_LINE} ]]; then
            words[last]+="${word}"
        else
            ((++last))
            words[last]="${word}"
        fi
    done
    # As the program gets them.
    for ((last = 0; last < ${#words[@]}; last++)); do
        words[last]="${words[last]//[\"\']/}"
    done
}

_elect_names() {
    local name words
    _elect_words
    while IFS= read -r name; do
        if [[ ${name} == "${cur}"* ]]; then
            COMPREPLY+=("${name}")
        fi
    done < <(command elect names "$1" -- "${words[@]:1}" 2>/dev/null </dev/null)
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
    if [[ ${COMP_WORDS[1]} =~ ^(history|observe|status|wait)$ && ${COMP_CWORD} -ge 2 && ${cur} != -* && ${flag} != -* ]]; then
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
