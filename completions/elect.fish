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
complete -c elect -n "__fish_elect_needs_command" -f -a "sidecar" -d 'Hold leadership for a separate application'
complete -c elect -n "__fish_elect_needs_command" -f -a "status" -d 'Show who leads and who waits'
complete -c elect -n "__fish_elect_needs_command" -f -a "observe" -d 'Print a line for each change of an election'
complete -c elect -n "__fish_elect_needs_command" -f -a "history" -d 'Show past leaders and how each ended'
complete -c elect -n "__fish_elect_needs_command" -f -a "done" -d 'Show which keys of --once are done'
complete -c elect -n "__fish_elect_needs_command" -f -a "wait" -d 'Wait until an election has a leader, or none'
complete -c elect -n "__fish_elect_needs_command" -f -a "resign" -d 'Ask the leader to hand over'
complete -c elect -n "__fish_elect_needs_command" -f -a "pause" -d 'Stop all candidates from leading for now'
complete -c elect -n "__fish_elect_needs_command" -f -a "resume" -d 'End a pause'
complete -c elect -n "__fish_elect_needs_command" -f -a "priority" -d 'Set the priority of a candidate'
complete -c elect -n "__fish_elect_needs_command" -f -a "forget" -d 'Remove what is kept of an election'
complete -c elect -n "__fish_elect_needs_command" -f -a "check" -d 'Tell whether this command still leads'
complete -c elect -n "__fish_elect_needs_command" -f -a "fence" -d 'Run a command unless the leader was replaced'
complete -c elect -n "__fish_elect_needs_command" -f -a "put" -d 'Store a value, as the leader'
complete -c elect -n "__fish_elect_needs_command" -f -a "get" -d 'Print a value that a leader stored'
complete -c elect -n "__fish_elect_needs_command" -f -a "doctor" -d 'Find problems with this machine and store'
complete -c elect -n "__fish_elect_needs_command" -f -a "selftest" -d 'Test what elect promises on this machine and store'
complete -c elect -n "__fish_elect_needs_command" -f -a "simulate" -d 'Simulate elections, before anything is deployed'
complete -c elect -n "__fish_elect_needs_command" -f -a "dashboard" -d 'Print alerts or a dashboard for the metrics'
complete -c elect -n "__fish_elect_needs_command" -f -a "config" -d 'Show or write the configuration'
complete -c elect -n "__fish_elect_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c elect -n "__fish_elect_needs_command" -f -a "man" -d 'Print a page of the manual'
complete -c elect -n "__fish_elect_needs_command" -f -a "help" -d 'Explain a subcommand or a topic, or find a word'
complete -c elect -n "__fish_elect_using_subcommand run" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -s e -l election -d 'Election\'s name [default: command\'s file name]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand run" -l id -d 'Label of this candidate [default: host name]' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l priority -d 'Priority; the highest leads next' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l preempt-after -d 'Time to wait before preempting [default: 30s]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l ttl -d 'Length of the lease [default: 15s, 60s in clouds]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l max-clock-drift -d 'Largest difference in clock speed [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l lock-delay -d 'Delay before leading after a crash [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l http -d 'Serve status, probes and metrics over HTTP' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l lease-file -d 'File that tells others whether we lead' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l on-elected -d 'Command to run when leadership begins' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l on-lost -d 'Command to run when leadership has ended' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l on-change -d 'Command to run when the leader changes' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l hook-timeout -d 'Time after which elect kills a hook' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s w -l wait -d 'Longest wait to lead [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s E -l conflict-exit-code -d 'Exit code without leadership' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l slots -d 'Number of leaders at a time [1 to 64]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l shards -d 'Number of shards to spread [1 to 1024]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s s -l signal -d 'Signal that asks the command to stop' -r
complete -c elect -n "__fish_elect_using_subcommand run" -s k -l kill-grace -d 'Time between the stop signal and SIGKILL [default: 4/15 of TTL, else 4s]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l after-loss -d 'After a loss, exit or campaign again' -r -f -a "exit\t'Exit with code 124'
campaign\t'Take part again, and run the command anew once we lead'"
complete -c elect -n "__fish_elect_using_subcommand run" -l leftover -d 'Processes left behind: kill or wait' -r -f -a "kill\t'They get TERM after --leftover-grace, and KILL after -k'
wait\t'Leadership is kept until they have ended by themselves'"
complete -c elect -n "__fish_elect_using_subcommand run" -l leftover-grace -d 'Time for processes left behind to end' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l containment -d 'How elect holds all descendants' -r -f -a "auto\t'The best that changes nothing the command can see'
pidns\t'A pid namespace: nothing escapes, even if elect is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand run" -l require-containment -d 'Weakest containment to accept' -r -f -a "pidns\t'A pid namespace: nothing escapes, even if elect is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand run" -l stop-timeout -d 'Time from INT or TERM to SIGKILL [default: never]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l hold -d 'Shortest time to keep the lease [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l max-run -d 'Stop the command after so long [default: never]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l restart -d 'When to restart the command' -r -f -a "never\t'The run ends with the command'
on-failure\t'When it has exited with another code than 0, or a signal has ended it'
always\t'However it has ended'"
complete -c elect -n "__fish_elect_using_subcommand run" -l restart-delay -d 'Pause before the first restart' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l restart-max-delay -d 'Longest pause between restarts' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-http -d 'Lead only while this URL answers with success' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l health-cmd -d 'Lead only while this command exits with 0' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand run" -l health-interval -d 'Time between health checks' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-timeout -d 'Longest time for a health check' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l health-threshold -d 'Failed checks in a row before giving up' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l once -d 'Run only once per KEY, among all candidates' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l once-per -d 'Run once in each PERIOD, such as day@02:50' -r -f
complete -c elect -n "__fish_elect_using_subcommand run" -l once-attempts -d 'How many runs of KEY there may be [default: any number]' -r
complete -c elect -n "__fish_elect_using_subcommand run" -l outcome -d 'Write the outcome to FILE, as JSON' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l log-format -d 'Format of messages on stderr: text or json' -r -f -a "text\t'One line for people'
json\t'One JSON object a line'"
complete -c elect -n "__fish_elect_using_subcommand run" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand run" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand run" -l preempt -d 'Ask a leader of lower priority to hand over'
complete -c elect -n "__fish_elect_using_subcommand run" -l require-strong -d 'Refuse a store whose promise is weak'
complete -c elect -n "__fish_elect_using_subcommand run" -l pod-label -d 'Label this pod while we lead'
complete -c elect -n "__fish_elect_using_subcommand run" -s n -l no-wait -d 'Exit at once if another candidate leads'
complete -c elect -n "__fish_elect_using_subcommand run" -s q -l quiet -d 'Print errors only'
complete -c elect -n "__fish_elect_using_subcommand run" -s v -l verbose -d 'Print all messages'
complete -c elect -n "__fish_elect_using_subcommand run" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l id -d 'Label of this candidate [default: host name]' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l priority -d 'Priority; the highest leads next' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l preempt-after -d 'Time to wait before preempting [default: 30s]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l ttl -d 'Length of the lease [default: 15s, 60s in clouds]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l max-clock-drift -d 'Largest difference in clock speed [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l lock-delay -d 'Delay before leading after a crash [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l http -d 'Serve status, probes and metrics over HTTP' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l lease-file -d 'File that tells others whether we lead' -r -F
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-elected -d 'Command to run when leadership begins' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-lost -d 'Command to run when leadership has ended' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l on-change -d 'Command to run when the leader changes' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l hook-timeout -d 'Time after which elect kills a hook' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l grace -d 'Time for the application to stop [default: 4/15 of TTL, else 4s]' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-http -d 'Lead only while this URL answers with success' -r -f
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-cmd -d 'Lead only while this command exits with 0' -r -f -a "(__fish_complete_command)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-interval -d 'Time between health checks' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-timeout -d 'Longest time for a health check' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l health-threshold -d 'Failed checks in a row before giving up' -r
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l log-format -d 'Format of messages on stderr: text or json' -r -f -a "text\t'One line for people'
json\t'One JSON object a line'"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s e -l election -d 'Name of the election' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l preempt -d 'Ask a leader of lower priority to hand over'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l require-strong -d 'Refuse a store whose promise is weak'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -l pod-label -d 'Label this pod while we lead'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s q -l quiet -d 'Print errors only'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s v -l verbose -d 'Print all messages'
complete -c elect -n "__fish_elect_using_subcommand sidecar" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand status" -s b -l backend -d 'Store that keeps the elections' -r -f
complete -c elect -n "__fish_elect_using_subcommand status" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand status" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand status" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand status" -s w -l watch -d 'Keep the table up to date until Ctrl-C'
complete -c elect -n "__fish_elect_using_subcommand status" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand observe" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand observe" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand observe" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand observe" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand observe" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand history" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand history" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand history" -l last -d 'Show only the N newest [default: all 50]' -r
complete -c elect -n "__fish_elect_using_subcommand history" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand history" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand history" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand done" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand done" -l timeout -d 'Wait at most so long [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand done" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand done" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand done" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand done" -l undo -d 'Remove KEY and its attempts'
complete -c elect -n "__fish_elect_using_subcommand done" -l record -d 'Record that KEY is done'
complete -c elect -n "__fish_elect_using_subcommand done" -l create -d 'With --record: also in an unknown election'
complete -c elect -n "__fish_elect_using_subcommand done" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand wait" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand wait" -l for -d 'State to wait for' -r -f
complete -c elect -n "__fish_elect_using_subcommand wait" -l timeout -d 'Longest time to wait [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand wait" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand wait" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand wait" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand resign" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l reason -d 'Reason to show in logs and in `elect status`' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l timeout -d 'Longest time to wait [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand resign" -l to -d 'Candidate to lead next, by id or label' -r -f
complete -c elect -n "__fish_elect_using_subcommand resign" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand resign" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand resign" -l force -d 'Remove the entry of a dead leader'
complete -c elect -n "__fish_elect_using_subcommand resign" -l even-if-alive -d 'With --force: remove a live leader too; two may run'
complete -c elect -n "__fish_elect_using_subcommand resign" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand pause" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l reason -d 'Reason to show in logs and in `elect status`' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l timeout -d 'Longest time to wait [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand pause" -l for -d 'End the pause after so long' -r
complete -c elect -n "__fish_elect_using_subcommand pause" -l until -d 'End the pause at this time: HH:MM in UTC, or RFC 3339' -r -f
complete -c elect -n "__fish_elect_using_subcommand pause" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand pause" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand pause" -l create -d 'Pause an unknown election too'
complete -c elect -n "__fish_elect_using_subcommand pause" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand resume" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand resume" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand resume" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand resume" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand priority" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand priority" -l reason -d 'Reason to show in logs and in `elect status`' -r -f
complete -c elect -n "__fish_elect_using_subcommand priority" -l timeout -d 'Longest time to wait [default: without end]' -r
complete -c elect -n "__fish_elect_using_subcommand priority" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand priority" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand priority" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand forget" -s b -l backend -d 'Store that keeps the election' -r -f
complete -c elect -n "__fish_elect_using_subcommand forget" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand forget" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand forget" -l yes -d 'Remove the election, not only show what is kept'
complete -c elect -n "__fish_elect_using_subcommand forget" -l fences -d 'With --yes: remove fences too; stale tokens pass then'
complete -c elect -n "__fish_elect_using_subcommand forget" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand check" -l remaining -d 'Time that the lease must still have [default: 0]' -r
complete -c elect -n "__fish_elect_using_subcommand check" -l lease-file -d 'Lease file to read [default: the command\'s own]' -r -F
complete -c elect -n "__fish_elect_using_subcommand check" -l lease-owner -d 'Trust lease files of this user, too' -r
complete -c elect -n "__fish_elect_using_subcommand check" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand fence" -s b -l backend -d 'Store [default: the command\'s, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand fence" -s e -l election -d 'Name of the election [default: the command\'s]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand fence" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand fence" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand fence" -l token -d 'Fencing token [default: the command\'s own]' -r
complete -c elect -n "__fish_elect_using_subcommand fence" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand put" -s b -l backend -d 'Store [default: the command\'s, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand put" -s e -l election -d 'Name of the election [default: the command\'s]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand put" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand put" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand put" -l token -d 'Fencing token [default: the command\'s own]' -r
complete -c elect -n "__fish_elect_using_subcommand put" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand get" -s b -l backend -d 'Store [default: the command\'s, else file:]' -r -f
complete -c elect -n "__fish_elect_using_subcommand get" -s e -l election -d 'Name of the election [default: the command\'s]' -r -f -a "(__elect_names elections)"
complete -c elect -n "__fish_elect_using_subcommand get" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand get" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand get" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand doctor" -s b -l backend -d 'Store to examine' -r -f
complete -c elect -n "__fish_elect_using_subcommand doctor" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand doctor" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand doctor" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand doctor" -l create -d 'Create what holds the elections, if it is missing'
complete -c elect -n "__fish_elect_using_subcommand doctor" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand selftest" -s b -l backend -d 'Store to test' -r -f
complete -c elect -n "__fish_elect_using_subcommand selftest" -l ttl -d 'Length of the leases [default: 5s]' -r
complete -c elect -n "__fish_elect_using_subcommand selftest" -l containment -d 'Containment to test' -r -f -a "auto\t'The best that changes nothing the command can see'
pidns\t'A pid namespace: nothing escapes, even if elect is killed; other process ids'
cgroup\t'A cgroup: set-uid programs are killed, too'
scan\t'All descendants are found and killed, while elect or its guardian lives'
group\t'The command\'s process group is killed, and nothing else'"
complete -c elect -n "__fish_elect_using_subcommand selftest" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand selftest" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand selftest" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand selftest" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand simulate; and not __fish_seen_subcommand_from ttl what-if compare" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand simulate; and not __fish_seen_subcommand_from ttl what-if compare" -f -a "ttl" -d 'Find the TTL for a network and its outages'
complete -c elect -n "__fish_elect_using_subcommand simulate; and not __fish_seen_subcommand_from ttl what-if compare" -f -a "what-if" -d 'Show what an election does when things go wrong'
complete -c elect -n "__fish_elect_using_subcommand simulate; and not __fish_seen_subcommand_from ttl what-if compare" -f -a "compare" -d 'Compare elect with other elections'
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l rtt -d 'Round trip between two machines [default: 1ms]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l between -d 'Round trip between regions: who is where, and the time' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l store -d 'Kind of store' -r -f -a "etcd\t'Leases, which etcd ends'
zookeeper\t'Sessions, which ZooKeeper ends tick by tick'
kubernetes\t'Leases that the candidates judge by their own clocks'
consul\t'The same, in its keys'
dynamodb\t'The same, in a table'
mariadb\t'The same, in a table'
s3\t'The same, in objects'
postgresql\t'The same, in a table'
redis\t'The same, in its keys'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l members -d 'Members of the store [default: 3, or 1 of a database or a cloud]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l tick -d 'How often the store looks for leases that are over' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l outage -d 'An outage of the network between a leader and the store' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l loss -d 'Messages that get lost all the time' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l tolerate -d 'Leaderships that may be lost for nothing in a month' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l kill-grace -d 'Time to stop after leadership is lost [default: 4/15 of the TTL]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l max-clock-drift -d 'Largest difference in clock speed [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l seed -d 'Seed of the first run' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l runs -d 'Runs to measure' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l svg -d 'File to draw it into, as SVG' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -l html -d 'File to write it into, as a web page' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from ttl" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -s c -l candidates -d 'Candidates' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l rtt -d 'Round trip between two machines [default: 1ms]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l between -d 'Round trip between regions: who is where, and the time' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l store -d 'Kind of store' -r -f -a "etcd\t'Leases, which etcd ends'
zookeeper\t'Sessions, which ZooKeeper ends tick by tick'
kubernetes\t'Leases that the candidates judge by their own clocks'
consul\t'The same, in its keys'
dynamodb\t'The same, in a table'
mariadb\t'The same, in a table'
s3\t'The same, in objects'
postgresql\t'The same, in a table'
redis\t'The same, in its keys'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l members -d 'Members of the store [default: 3, or 1 of a database or a cloud]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l tick -d 'How often the store looks for leases that are over' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l ttl -d 'Length of the lease' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l kill-grace -d 'Time to stop after leadership is lost [default: 4/15 of the TTL]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l max-clock-drift -d 'Largest difference in clock speed [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l stops-within -d 'How long a command takes to end once it is asked to' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l kill -d 'Kill a machine, or processes of elect on it' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l pause -d 'Stop processes, as SIGSTOP does' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l suspend -d 'Stop a machine with its clock, as a hypervisor can' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l isolate -d 'Cut a machine off from all others' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l split -d 'Split the network: 1,s1/2,3,s2,s3@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l one-way -d 'Lose all messages of one way: 1:s1@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l drift -d 'Let a clock run faster or slower: 1:+20%' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l loss -d 'Lose messages: 5%@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l for -d 'Time to simulate [default: four TTLs after the last fault]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l seed -d 'Seed of the first run' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l runs -d 'Runs to measure' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l svg -d 'File to draw it into, as SVG' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -l html -d 'File to write it into, as a web page' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from what-if" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -s c -l candidates -d 'Candidates' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l rtt -d 'Round trip between two machines [default: 1ms]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l between -d 'Round trip between regions: who is where, and the time' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l store -d 'Kind of store' -r -f -a "etcd\t'Leases, which etcd ends'
zookeeper\t'Sessions, which ZooKeeper ends tick by tick'
kubernetes\t'Leases that the candidates judge by their own clocks'
consul\t'The same, in its keys'
dynamodb\t'The same, in a table'
mariadb\t'The same, in a table'
s3\t'The same, in objects'
postgresql\t'The same, in a table'
redis\t'The same, in its keys'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l members -d 'Members of the store [default: 3, or 1 of a database or a cloud]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l tick -d 'How often the store looks for leases that are over' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l ttl -d 'Silence after which a leader counts as dead' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l kill-grace -d 'Time to stop after leadership is lost [default: 4/15 of the TTL]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l max-clock-drift -d 'Largest difference in clock speed [default: 10%]' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l kill -d 'Kill a machine, or processes of elect on it' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l pause -d 'Stop processes, as SIGSTOP does' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l suspend -d 'Stop a machine with its clock, as a hypervisor can' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l isolate -d 'Cut a machine off from all others' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l split -d 'Split the network: 1,s1/2,3,s2,s3@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l one-way -d 'Lose all messages of one way: 1:s1@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l drift -d 'Let a clock run faster or slower: 1:+20%' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l loss -d 'Lose messages: 5%@20s..50s' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l seed -d 'Seed of the first run' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l runs -d 'Runs to measure' -r
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l svg -d 'File to draw it into, as SVG' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -l html -d 'File to write it into, as a web page' -r -F
complete -c elect -n "__fish_elect_using_subcommand simulate; and __fish_seen_subcommand_from compare" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -f -a "alerts" -d 'Print alerting rules for Prometheus'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and not __fish_seen_subcommand_from alerts grafana" -f -a "grafana" -d 'Print a dashboard for Grafana'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from alerts" -l for -d 'Time that a condition holds before an alert' -r
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from alerts" -l by -d 'Labels that also tell elections apart' -r
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from alerts" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from grafana" -l by -d 'Labels that also tell elections apart' -r
complete -c elect -n "__fish_elect_using_subcommand dashboard; and __fish_seen_subcommand_from grafana" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand config; and not __fish_seen_subcommand_from show set" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand config; and not __fish_seen_subcommand_from show set" -f -a "show" -d 'Show the settings of a subcommand and their origin'
complete -c elect -n "__fish_elect_using_subcommand config; and not __fish_seen_subcommand_from show set" -f -a "set" -d 'Write settings to a configuration file'
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -s o -l output -d 'Output format: table, json or yaml' -r -f -a "table\t'For people; may change'
json\t'For programs; stable'
yaml\t'For programs; the same keys as JSON'"
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Configuration file to read instead of the usual ones' -r -F
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -l profile -d 'Profile of the configuration file to use' -r -f -a "(__elect_names profiles)"
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print this help'
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from set" -l file -d 'File to write [default: that of all users]' -r -F
complete -c elect -n "__fish_elect_using_subcommand config; and __fish_seen_subcommand_from set" -s h -l help -d 'Print this help'
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
