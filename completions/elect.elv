
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
            cand sidecar 'Lead on behalf of an application, and say so'
            cand status 'Show who leads and who waits'
            cand observe 'Write a line for each change of an election'
            cand history 'Show who has led and how that ended'
            cand done 'Show which keys of --once are done'
            cand wait 'Wait until an election has a leader, or none'
            cand resign 'Have the leader hand over'
            cand pause 'Have nobody lead for now'
            cand resume 'End a pause'
            cand priority 'Set who is to lead rather than others'
            cand forget 'Remove what is kept of an election'
            cand check 'Say whether the leadership of this command holds'
            cand fence 'Run a command unless the leader was replaced'
            cand put 'Keep a value, as a leader'
            cand get 'Print a value that a leader keeps'
            cand doctor 'Find what is wrong with this machine and store'
            cand selftest 'Try all that elect promises on this machine and store'
            cand dashboard 'Print alerts or a dashboard for the metrics'
            cand config 'Look at the configuration'
            cand completions 'Print a shell''s script that completes what is typed'
            cand man 'Print a page of the manual'
            cand help 'Explain a subcommand or a topic, or find a word'
        }
        &'elect;run'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand -e 'Its name [default: the command''s file name]'
            cand --election 'Its name [default: the command''s file name]'
            cand --id 'Label of this candidate [default: host name]'
            cand --priority 'The greatest leads next; 0 never leads'
            cand --preempt-after 'Wait so long before that [default: 30s]'
            cand --ttl 'Length of the lease [default: 15s]'
            cand --max-clock-drift 'Clocks may differ by so much [default: 10%]'
            cand --lock-delay 'Wait so long after a crash [default: 0]'
            cand --http 'Show over HTTP how things are'
            cand --lease-file 'Keep there whether we lead'
            cand --on-elected 'Run once we lead'
            cand --on-lost 'Run once we do not any more'
            cand --on-change 'Run when somebody else leads, or nobody'
            cand --hook-timeout 'Kill each of these after so long'
            cand -w 'Wait at most so long [default: without end]'
            cand --wait 'Wait at most so long [default: without end]'
            cand -E 'Exit code if not acquired'
            cand --conflict-exit-code 'Exit code if not acquired'
            cand --slots 'Let so many lead at once [1 to 64]'
            cand --shards 'Spread so many shards over all [1 to 1024]'
            cand -s 'What asks the command to stop'
            cand --signal 'What asks the command to stop'
            cand -k 'From that to the kill [default: 4/15 of TTL]'
            cand --kill-grace 'From that to the kill [default: 4/15 of TTL]'
            cand --after-loss 'Then exit, or campaign anew'
            cand --leftover 'kill or wait for leftovers'
            cand --containment 'What holds its descendants'
            cand --require-containment 'Refuse to run with less'
            cand --stop-timeout 'From INT or TERM to kill [default: never]'
            cand --hold 'Keep the lease so long at least [default: 0]'
            cand --restart 'Start it again at its end'
            cand --restart-delay 'How long after its end'
            cand --restart-max-delay 'The longest such pause'
            cand --health-http 'Lead only while it answers a GET with success'
            cand --health-cmd 'Lead only while this exits with 0'
            cand --health-interval 'How often to check'
            cand --health-timeout 'How long a check may take'
            cand --health-threshold 'How many have to fail in a row'
            cand --once 'Run once for each KEY'
            cand --once-attempts 'How many runs of KEY there may be [default: any number]'
            cand --outcome 'Write what happened there, as JSON'
            cand --log-format 'text or json, on stderr'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --preempt 'Ask a leader of less priority to hand over'
            cand -n 'Exit at once if another candidate leads'
            cand --no-wait 'Exit at once if another candidate leads'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -v 'Say everything'
            cand --verbose 'Say everything'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;sidecar'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --id 'Label of this candidate [default: host name]'
            cand --priority 'The greatest leads next; 0 never leads'
            cand --preempt-after 'Wait so long before that [default: 30s]'
            cand --ttl 'Length of the lease [default: 15s]'
            cand --max-clock-drift 'Clocks may differ by so much [default: 10%]'
            cand --lock-delay 'Wait so long after a crash [default: 0]'
            cand --http 'Show over HTTP how things are'
            cand --lease-file 'Keep there whether we lead'
            cand --on-elected 'Run once we lead'
            cand --on-lost 'Run once we do not any more'
            cand --on-change 'Run when somebody else leads, or nobody'
            cand --hook-timeout 'Kill each of these after so long'
            cand --grace 'From our last yes to the next leader [default: 4/15 of TTL]'
            cand --health-http 'Lead only while it answers a GET with success'
            cand --health-cmd 'Lead only while this exits with 0'
            cand --health-interval 'How often to check'
            cand --health-timeout 'How long a check may take'
            cand --health-threshold 'How many have to fail in a row'
            cand --log-format 'text or json, on stderr'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -e 'Its name'
            cand --election 'Its name'
            cand --preempt 'Ask a leader of less priority to hand over'
            cand -q 'Say nothing but errors'
            cand --quiet 'Say nothing but errors'
            cand -v 'Say everything'
            cand --verbose 'Say everything'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;status'= {
            cand -b 'Where the elections are kept'
            cand --backend 'Where the elections are kept'
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --watch 'Stay, and keep the table up to date'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;observe'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand -o 'table (lines for people), json or yaml'
            cand --output 'table (lines for people), json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;history'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --last 'Show only so many, the newest [default: all 50]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;done'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --timeout 'Wait at most so long [default: without end]'
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --undo 'Remove KEY and its attempts'
            cand --record 'Record that KEY is done'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;wait'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --for 'leader, vacant, or who is to lead'
            cand --timeout 'Wait at most so long [default: without end]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;resign'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --reason 'Why, for logs and for all who look'
            cand --timeout 'Wait at most so long [default: without end]'
            cand --to 'Who is to lead next: its id or label'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --force 'Remove its entry if nobody holds it any more'
            cand --even-if-alive 'With --force: though it lives, so that two may run'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;pause'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --reason 'Why, for logs and for all who look'
            cand --timeout 'Wait at most so long [default: without end]'
            cand --for 'End the pause after so long'
            cand --until 'End the pause at this time: HH:MM in UTC, or RFC 3339'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --create 'Pause an election that nobody has been in yet'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;resume'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;priority'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --reason 'Why, for logs and for all who look'
            cand --timeout 'Wait at most so long [default: without end]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;forget'= {
            cand -b 'Where the election is kept'
            cand --backend 'Where the election is kept'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --yes 'Remove it, and do not only show what is kept'
            cand --fences 'With --yes: though it has fences, which let a stale token pass then'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;check'= {
            cand --remaining 'How long it must still hold [default: 0]'
            cand --lease-file 'Whose lease it is [default: the command''s own]'
            cand --lease-owner 'Believe this user, too'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;fence'= {
            cand -b 'Where it is kept [default: as told, else file:]'
            cand --backend 'Where it is kept [default: as told, else file:]'
            cand -e 'The election [default: that which leads here]'
            cand --election 'The election [default: that which leads here]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --token 'The fencing token [default: this command''s own]'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;put'= {
            cand -b 'Where it is kept [default: as told, else file:]'
            cand --backend 'Where it is kept [default: as told, else file:]'
            cand -e 'The election [default: that which leads here]'
            cand --election 'The election [default: that which leads here]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand --token 'The fencing token [default: this command''s own]'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;get'= {
            cand -b 'Where it is kept [default: as told, else file:]'
            cand --backend 'Where it is kept [default: as told, else file:]'
            cand -e 'The election [default: that which leads here]'
            cand --election 'The election [default: that which leads here]'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;doctor'= {
            cand -b 'The store to examine'
            cand --backend 'The store to examine'
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;selftest'= {
            cand -b 'The store to try it in'
            cand --backend 'The store to try it in'
            cand --ttl 'Length of the leases [default: 5s]'
            cand --containment 'What holds the descendants of the commands'
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
            cand -h 'Print this help'
            cand --help 'Print this help'
        }
        &'elect;dashboard'= {
            cand -h 'Print this help'
            cand --help 'Print this help'
            cand alerts 'Alerting rules for Prometheus'
            cand grafana 'A dashboard for Grafana'
        }
        &'elect;dashboard;alerts'= {
            cand --for 'How long something has to be so before anybody is told'
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
            cand show 'Show what a subcommand would use, and where each value comes from'
        }
        &'elect;config;show'= {
            cand -o 'table, json or yaml'
            cand --output 'table, json or yaml'
            cand --config 'Configuration file, in place of the usual ones'
            cand --profile 'The profile in it to use'
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
