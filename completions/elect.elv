
use builtin;
use str;

set edit:completion:arg-completer[elect] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'elect'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'elect'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
            cand -V 'Print version'
            cand --version 'Print version'
            cand run 'Run a command while leading an election'
            cand sidecar 'Hold leadership for a separate application'
            cand status 'Show who leads and who waits'
            cand observe 'Print a line for each change of an election'
            cand history 'Show past leaders and how each ended'
            cand done 'Show which keys of --once are done'
            cand wait 'Wait until an election has a leader, or none'
            cand resign 'Ask the leader to hand over'
            cand pause 'Stop all candidates from leading for now'
            cand resume 'End a pause'
            cand priority 'Set the priority of a candidate'
            cand forget 'Remove what is kept of an election'
            cand check 'Tell whether this command still leads'
            cand fence 'Run a command unless the leader was replaced'
            cand put 'Store a value, as the leader'
            cand get 'Print a value that a leader stored'
            cand doctor 'Find problems with this machine and store'
            cand selftest 'Test what elect promises on this machine and store'
            cand dashboard 'Print alerts or a dashboard for the metrics'
            cand config 'Show the configuration'
            cand completions 'Print a completion script for a shell'
            cand man 'Print a page of the manual'
            cand help 'Explain a subcommand or a topic, or find a word'
        }
        &'elect;run'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand -e 'Election''s name [default: command''s file name]'
            cand --election 'Election''s name [default: command''s file name]'
            cand --id 'Label of this candidate [default: host name]'
            cand --priority 'Priority; the highest leads next'
            cand --preempt-after 'Time to wait before preempting [default: 30s]'
            cand --ttl 'Length of the lease [default: 15s]'
            cand --max-clock-drift 'Largest difference in clock speed [default: 10%]'
            cand --lock-delay 'Delay before leading after a crash [default: 0]'
            cand --http 'Serve status, probes and metrics over HTTP'
            cand --lease-file 'File that tells others whether we lead'
            cand --on-elected 'Command to run when leadership begins'
            cand --on-lost 'Command to run when leadership has ended'
            cand --on-change 'Command to run when the leader changes'
            cand --hook-timeout 'Time after which elect kills a hook'
            cand -w 'Longest wait to lead [default: without end]'
            cand --wait 'Longest wait to lead [default: without end]'
            cand -E 'Exit code without leadership'
            cand --conflict-exit-code 'Exit code without leadership'
            cand --slots 'Number of leaders at a time [1 to 64]'
            cand --shards 'Number of shards to spread [1 to 1024]'
            cand -s 'Signal that asks the command to stop'
            cand --signal 'Signal that asks the command to stop'
            cand -k 'Time between the stop signal and SIGKILL [default: 4/15 of TTL]'
            cand --kill-grace 'Time between the stop signal and SIGKILL [default: 4/15 of TTL]'
            cand --after-loss 'After a loss, exit or campaign again'
            cand --leftover 'Processes left behind: kill or wait'
            cand --containment 'How elect holds all descendants'
            cand --require-containment 'Weakest containment to accept'
            cand --stop-timeout 'Time from INT or TERM to SIGKILL [default: never]'
            cand --hold 'Shortest time to keep the lease [default: 0]'
            cand --max-run 'Stop the command after so long [default: never]'
            cand --restart 'When to restart the command'
            cand --restart-delay 'Pause before the first restart'
            cand --restart-max-delay 'Longest pause between restarts'
            cand --health-http 'Lead only while this URL answers with success'
            cand --health-cmd 'Lead only while this command exits with 0'
            cand --health-interval 'Time between health checks'
            cand --health-timeout 'Longest time for a health check'
            cand --health-threshold 'Failed checks in a row before giving up'
            cand --once 'Run only once per KEY, among all candidates'
            cand --once-per 'Run once in each PERIOD, such as day@02:50'
            cand --once-attempts 'How many runs of KEY there may be [default: any number]'
            cand --outcome 'Write the outcome to FILE, as JSON'
            cand --log-format 'Format of messages on stderr: text or json'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --preempt 'Ask a leader of lower priority to hand over'
            cand --pod-label 'Label this pod while we lead'
            cand -n 'Exit at once if another candidate leads'
            cand --no-wait 'Exit at once if another candidate leads'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print all messages'
            cand --verbose 'Print all messages'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;sidecar'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --id 'Label of this candidate [default: host name]'
            cand --priority 'Priority; the highest leads next'
            cand --preempt-after 'Time to wait before preempting [default: 30s]'
            cand --ttl 'Length of the lease [default: 15s]'
            cand --max-clock-drift 'Largest difference in clock speed [default: 10%]'
            cand --lock-delay 'Delay before leading after a crash [default: 0]'
            cand --http 'Serve status, probes and metrics over HTTP'
            cand --lease-file 'File that tells others whether we lead'
            cand --on-elected 'Command to run when leadership begins'
            cand --on-lost 'Command to run when leadership has ended'
            cand --on-change 'Command to run when the leader changes'
            cand --hook-timeout 'Time after which elect kills a hook'
            cand --grace 'Time for the application to stop [default: 4/15 of TTL]'
            cand --health-http 'Lead only while this URL answers with success'
            cand --health-cmd 'Lead only while this command exits with 0'
            cand --health-interval 'Time between health checks'
            cand --health-timeout 'Longest time for a health check'
            cand --health-threshold 'Failed checks in a row before giving up'
            cand --log-format 'Format of messages on stderr: text or json'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -e 'Name of the election'
            cand --election 'Name of the election'
            cand --preempt 'Ask a leader of lower priority to hand over'
            cand --pod-label 'Label this pod while we lead'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print all messages'
            cand --verbose 'Print all messages'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;status'= {
            cand -b 'Store that keeps the elections'
            cand --backend 'Store that keeps the elections'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -w 'Keep the table up to date until Ctrl-C'
            cand --watch 'Keep the table up to date until Ctrl-C'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;observe'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;history'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --last 'Show only the N newest [default: all 50]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;done'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --timeout 'Wait at most so long [default: without end]'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --undo 'Remove KEY and its attempts'
            cand --record 'Record that KEY is done'
            cand --create 'With --record: also in an unknown election'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;wait'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --for 'State to wait for'
            cand --timeout 'Longest time to wait [default: without end]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;resign'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --reason 'Reason to show in logs and in `elect status`'
            cand --timeout 'Longest time to wait [default: without end]'
            cand --to 'Candidate to lead next, by id or label'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --force 'Remove the entry of a dead leader'
            cand --even-if-alive 'With --force: remove a live leader too; two may run'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;pause'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --reason 'Reason to show in logs and in `elect status`'
            cand --timeout 'Longest time to wait [default: without end]'
            cand --for 'End the pause after so long'
            cand --until 'End the pause at this time: HH:MM in UTC, or RFC 3339'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --create 'Pause an unknown election too'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;resume'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;priority'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --reason 'Reason to show in logs and in `elect status`'
            cand --timeout 'Longest time to wait [default: without end]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;forget'= {
            cand -b 'Store that keeps the election'
            cand --backend 'Store that keeps the election'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --yes 'Remove the election, not only show what is kept'
            cand --fences 'With --yes: remove fences too; stale tokens pass then'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;check'= {
            cand --remaining 'Time that the lease must still have [default: 0]'
            cand --lease-file 'Lease file to read [default: the command''s own]'
            cand --lease-owner 'Trust lease files of this user, too'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;fence'= {
            cand -b 'Store [default: the command''s, else file:]'
            cand --backend 'Store [default: the command''s, else file:]'
            cand -e 'Name of the election [default: the command''s]'
            cand --election 'Name of the election [default: the command''s]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --token 'Fencing token [default: the command''s own]'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;put'= {
            cand -b 'Store [default: the command''s, else file:]'
            cand --backend 'Store [default: the command''s, else file:]'
            cand -e 'Name of the election [default: the command''s]'
            cand --election 'Name of the election [default: the command''s]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand --token 'Fencing token [default: the command''s own]'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;get'= {
            cand -b 'Store [default: the command''s, else file:]'
            cand --backend 'Store [default: the command''s, else file:]'
            cand -e 'Name of the election [default: the command''s]'
            cand --election 'Name of the election [default: the command''s]'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;doctor'= {
            cand -b 'Store to examine'
            cand --backend 'Store to examine'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;selftest'= {
            cand -b 'Store to test'
            cand --backend 'Store to test'
            cand --ttl 'Length of the leases [default: 5s]'
            cand --containment 'Containment to test'
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;dashboard'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
            cand alerts 'Print alerting rules for Prometheus'
            cand grafana 'Print a dashboard for Grafana'
        }
        &'elect;dashboard;alerts'= {
            cand --for 'Time that a condition holds before an alert'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;dashboard;grafana'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;config'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
            cand show 'Show the settings of a subcommand and their origin'
        }
        &'elect;config;show'= {
            cand -o 'Output format: table, json or yaml'
            cand --output 'Output format: table, json or yaml'
            cand --config 'Configuration file to read instead of the usual ones'
            cand --profile 'Profile of the configuration file to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;completions'= {
            cand --dir 'Write the scripts of all shells to this folder'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;man'= {
            cand --dir 'Write all pages to man1 and man7 in this folder'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;help'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
    ]
    $completions[$command]
}
