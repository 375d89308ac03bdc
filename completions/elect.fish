# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_elect_global_optspecs
    string join \n h/help V/version
end

function __fish_elect_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_elect_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_elect_using_subcommand
    set -l cmd (__fish_elect_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c elect -n "__fish_elect_needs_command" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_needs_command" -s V -l version -d 'Print version'
complete -c elect -n "__fish_elect_needs_command" -f -a "run" -d 'Run a command while leading an election'
complete -c elect -n "__fish_elect_needs_command" -f -a "sidecar" -d 'Lead on behalf of an application, and say so'
complete -c elect -n "__fish_elect_needs_command" -f -a "status" -d 'Show who leads and who waits'
complete -c elect -n "__fish_elect_needs_command" -f -a "observe" -d 'Write a line for each change of an election'
complete -c elect -n "__fish_elect_needs_command" -f -a "history" -d 'Show who has led and how that ended'
complete -c elect -n "__fish_elect_needs_command" -f -a "done" -d 'Show which keys of --once are done'
complete -c elect -n "__fish_elect_needs_command" -f -a "wait" -d 'Wait until an election has a leader, or none'
complete -c elect -n "__fish_elect_needs_command" -f -a "resign" -d 'Have the leader hand over'
complete -c elect -n "__fish_elect_needs_command" -f -a "pause" -d 'Have nobody lead for now'
complete -c elect -n "__fish_elect_needs_command" -f -a "resume" -d 'End a pause'
complete -c elect -n "__fish_elect_needs_command" -f -a "priority" -d 'Set who is to lead rather than others'
complete -c elect -n "__fish_elect_needs_command" -f -a "forget" -d 'Remove what is kept of an election'
complete -c elect -n "__fish_elect_needs_command" -f -a "check" -d 'Say whether the leadership of this command holds'
complete -c elect -n "__fish_elect_needs_command" -f -a "fence" -d 'Run a command unless the leader was replaced'
complete -c elect -n "__fish_elect_needs_command" -f -a "put" -d 'Keep a value, as a leader'
complete -c elect -n "__fish_elect_needs_command" -f -a "get" -d 'Print a value that a leader keeps'
complete -c elect -n "__fish_elect_needs_command" -f -a "doctor" -d 'Find what is wrong with this machine and store'
complete -c elect -n "__fish_elect_needs_command" -f -a "selftest" -d 'Try all that elect promises on this machine and store'
complete -c elect -n "__fish_elect_needs_command" -f -a "dashboard" -d 'Print alerts or a dashboard for the metrics'
complete -c elect -n "__fish_elect_needs_command" -f -a "config" -d 'Look at the configuration'
complete -c elect -n "__fish_elect_needs_command" -f -a "completions" -d 'Print a shell\'s script that completes what is typed'
complete -c elect -n "__fish_elect_needs_command" -f -a "man" -d 'Print a page of the manual'
complete -c elect -n "__fish_elect_needs_command" -f -a "help" -d 'Explain a subcommand or a topic, or find a word'
complete -c elect -n "__fish_elect_using_subcommand run" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -s e -l election -d 'Its name [default: the command\'s file name]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand run" -l id -d 'Label of this candidate [default: host name]' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l priority -d 'The greatest leads next; 0 never leads' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l preempt-after -d 'Wait so long before that [default: 30s]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l ttl -d 'Length of the lease [default: 15s]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l max-clock-drift -d 'Clocks may differ by so much [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l lock-delay -d 'Wait so long after a crash [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l http -d 'Show over HTTP how things are' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l lease-file -d 'Keep there whether we lead' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l on-elected -d 'Run once we lead' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l on-lost -d 'Run once we do not any more' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l on-change -d 'Run when somebody else leads, or nobody' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l hook-timeout -d 'Kill each of these after so long' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s w -l wait -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s E -l conflict-exit-code -d 'Exit code if not acquired' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l slots -d 'Let so many lead at once [1 to 64]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l shards -d 'Spread so many shards over all [1 to 1024]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s s -l signal -d 'What asks the command to stop' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s k -l kill-grace -d 'From that to the kill [default: 4/15 of TTL]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l after-loss -d 'Then exit, or campaign anew' -r -f -a "exit\t'Exit with code 124'
campaign\t'Take part again, and run the command anew once we lead'"
complete -c elect -n "__fish_elect_using_subcommand run" -l leftover -d 'kill or wait for leftovers' -r -f -a "kill\t'They are killed before leadership is given up'
wait\t'Leadership is kept until they have ended by themselves'"
complete -c elect -n "__fish_elect_using_subcommand run" -l containment -d 'What holds its descendants' -r -f -a "auto\t'The best that changes nothing the command can see'
pidns\t'A pid namespace: nothing escapes, whoever is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand run" -l require-containment -d 'Refuse to run with less' -r -f -a "pidns\t'A pid namespace: nothing escapes, whoever is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand run" -l stop-timeout -d 'From INT or TERM to kill [default: never]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l hold -d 'Keep the lease so long at least [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l restart -d 'Start it again at its end' -r -f -a "never\t'Its end is that of the run'
on-failure\t'When it has exited with another code than 0, or a signal has ended it'
always\t'However it has ended'"
complete -c elect -n "__fish_elect_using_subcommand run" -l restart-delay -d 'How long after its end' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l restart-max-delay -d 'The longest such pause' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-http -d 'Lead only while it answers a GET with success' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l health-cmd -d 'Lead only while this exits with 0' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l health-interval -d 'How often to check' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-timeout -d 'How long a check may take' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-threshold -d 'How many have to fail in a row' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l once -d 'Run once for each KEY' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l once-attempts -d 'How many runs of KEY there may be [default: any number]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l outcome -d 'Write what happened there, as JSON' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l log-format -d 'text or json, on stderr' -r -f -a "text\t'One line for people'
json\t'One JSON object a line'"
complete -c elect -n "__fish_elect_using_subcommand run" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand run" -l preempt -d 'Ask a leader of less priority to hand over'
complete -c elect -n "__fish_elect_using_subcommand run" -s n -l no-wait -d 'Exit at once if another candidate leads'
complete -c elect -n "__fish_elect_using_subcommand run" -s q -l quiet -d 'Say nothing but errors'
complete -c elect -n "__fish_elect_using_subcommand run" -s v -l verbose -d 'Say everything'
complete -c elect -n "__fish_elect_using_subcommand run" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l id -d 'Label of this candidate [default: host name]' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l priority -d 'The greatest leads next; 0 never leads' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l preempt-after -d 'Wait so long before that [default: 30s]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l ttl -d 'Length of the lease [default: 15s]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l max-clock-drift -d 'Clocks may differ by so much [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l lock-delay -d 'Wait so long after a crash [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l http -d 'Show over HTTP how things are' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l lease-file -d 'Keep there whether we lead' -r -F
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-elected -d 'Run once we lead' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-lost -d 'Run once we do not any more' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-change -d 'Run when somebody else leads, or nobody' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l hook-timeout -d 'Kill each of these after so long' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l grace -d 'From our last yes to the next leader [default: 4/15 of TTL]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-http -d 'Lead only while it answers a GET with success' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-cmd -d 'Lead only while this exits with 0' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-interval -d 'How often to check' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-timeout -d 'How long a check may take' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-threshold -d 'How many have to fail in a row' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l log-format -d 'text or json, on stderr' -r -f -a "text\t'One line for people'
json\t'One JSON object a line'"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s e -l election -d 'Its name' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l preempt -d 'Ask a leader of less priority to hand over'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s q -l quiet -d 'Say nothing but errors'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s v -l verbose -d 'Say everything'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand status" -s b -l backend -d 'Where the elections are kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand status" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand status" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand status" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand status" -l watch -d 'Stay, and keep the table up to date'
complete -c elect -n "__fish_elect_using_subcommand status" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand observe" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand observe" -s o -l output -d 'table (lines for people), json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand observe" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand observe" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand observe" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand history" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand history" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand history" -l last -d 'Show only so many, the newest [default: all 50]' -r
complete -c elect -n "__fish_elect_using_subcommand history" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand history" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand history" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand done" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand done" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand done" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand done" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand done" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand done" -l undo -d 'Remove KEY and its attempts'
complete -c elect -n "__fish_elect_using_subcommand done" -l record -d 'Record that KEY is done'
complete -c elect -n "__fish_elect_using_subcommand done" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand wait" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand wait" -l for -d 'leader, vacant, or who is to lead' -r -f
complete -c elect -n "__fish_elect_using_subcommand wait" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand wait" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand wait" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand wait" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand resign" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l reason -d 'Why, for logs and for all who look' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand resign" -l to -d 'Who is to lead next: its id or label' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand resign" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand resign" -l force -d 'Remove its entry if nobody holds it any more'
complete -c elect -n "__fish_elect_using_subcommand resign" -l even-if-alive -d 'With --force: though it lives, so that two may run'
complete -c elect -n "__fish_elect_using_subcommand resign" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand pause" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l reason -d 'Why, for logs and for all who look' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand pause" -l for -d 'End the pause after so long' -r
complete -c elect -n "__fish_elect_using_subcommand pause" -l until -d 'End the pause at this time: HH:MM in UTC, or RFC 3339' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand pause" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand pause" -l create -d 'Pause an election that nobody has been in yet'
complete -c elect -n "__fish_elect_using_subcommand pause" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand resume" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand resume" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand resume" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand resume" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand priority" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand priority" -l reason -d 'Why, for logs and for all who look' -r -f
complete -c elect -n "__fish_elect_using_subcommand priority" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand priority" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand priority" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand priority" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand forget" -s b -l backend -d 'Where the election is kept' -r -f
complete -c elect -n "__fish_elect_using_subcommand forget" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand forget" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand forget" -l yes -d 'Remove it, and do not only show what is kept'
complete -c elect -n "__fish_elect_using_subcommand forget" -l fences -d 'With --yes: though it has fences, which let a stale token pass then'
complete -c elect -n "__fish_elect_using_subcommand forget" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand check" -l remaining -d 'How long it must still hold [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand check" -l lease-file -d 'Whose lease it is [default: the command\'s own]' -r -F
complete -c elect -n "__fish_elect_using_subcommand check" -l lease-owner -d 'Believe this user, too' -r
complete -c elect -n "__fish_elect_using_subcommand check" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand fence" -s b -l backend -d 'Where it is kept [default: as told, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand fence" -s e -l election -d 'The election [default: that which leads here]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand fence" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand fence" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand fence" -l token -d 'The fencing token [default: this command\'s own]' -r
complete -c elect -n "__fish_elect_using_subcommand fence" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand put" -s b -l backend -d 'Where it is kept [default: as told, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand put" -s e -l election -d 'The election [default: that which leads here]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand put" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand put" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand put" -l token -d 'The fencing token [default: this command\'s own]' -r
complete -c elect -n "__fish_elect_using_subcommand put" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand get" -s b -l backend -d 'Where it is kept [default: as told, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand get" -s e -l election -d 'The election [default: that which leads here]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand get" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand get" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand get" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand doctor" -s b -l backend -d 'The store to examine' -r -f
complete -c elect -n "__fish_elect_using_subcommand doctor" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand doctor" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand doctor" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand doctor" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand selftest" -s b -l backend -d 'The store to try it in' -r -f
complete -c elect -n "__fish_elect_using_subcommand selftest" -l ttl -d 'Length of the leases [default: 5s]' -r
complete -c elect -n "__fish_elect_using_subcommand selftest" -l containment -d 'What holds the descendants of the commands' -r -f -a "auto\t'The best that changes nothing the command can see'
pidns\t'A pid namespace: nothing escapes, whoever is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand selftest" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand selftest" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand selftest" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand selftest" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -f -a "alerts" -d 'Alerting rules for Prometheus'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -f -a "grafana" -d 'A dashboard for Grafana'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from alerts" -l for -d 'How long something has to be so before anybody is told' -r
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from alerts" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from grafana" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand config; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand config; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show what a subcommand would use, and where each value comes from'
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -s o -l output -d 'table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Configuration file, in place of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -l profile -d 'The profile in it to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand completions" -l dir -d 'Write the scripts of all shells to this folder' -r -f -a "(__fish_complete_directories)"
complete -c elect -n "__fish_elect_using_subcommand completions" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand man" -l dir -d 'Write all pages to man1 and man7 in this folder' -r -f -a "(__fish_complete_directories)"
complete -c elect -n "__fish_elect_using_subcommand man" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand help" -s h -l help -d 'Print this help'

# Names of profiles and elections, which elect itself knows.
function __elect_names
    set -l before (commandline -opc)
    command elect names $argv[1] -- $before[2..-1] 2>/dev/null </dev/null
end

complete -c elect -n "__fish_elect_using_subcommand history observe status wait" -f -a "(__elect_names elections)"
