# Names of profiles and elections, which elect itself knows.
_elect_names() {
    local what=$1
    shift
    local -a names before
    # As typed: the words of the completion system are those of one subcommand.
    before=("${(@Q)${(z)LBUFFER}}")
    [[ $LBUFFER == *[[:space:]] ]] || before=("${(@)before[1,-2]}")
    names=("${(@f)$(command elect names $what -- "${(@)before[2,-1]}" 2>/dev/null </dev/null)}")
    compadd "$@" -- "${(@)names:#}"
}

_elect_profiles() { _elect_names profiles "$@" }

_elect_elections() { _elect_names elections "$@" }
