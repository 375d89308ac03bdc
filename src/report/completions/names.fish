# Names of profiles and elections, which elect itself knows.
function __elect_names
    set -l before (commandline -opc)
    command elect names $argv[1] -- $before[2..-1] 2>/dev/null </dev/null
end

complete -c elect -n "__fish_elect_using_subcommand history observe status wait" -f -a "(__elect_names elections)"
