
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'elect' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'elect'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'elect' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('run', 'run', [CompletionResultType]::ParameterValue, 'Run a command while leading an election')
            [CompletionResult]::new('sidecar', 'sidecar', [CompletionResultType]::ParameterValue, 'Lead on behalf of an application, and say so')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show who leads and who waits')
            [CompletionResult]::new('observe', 'observe', [CompletionResultType]::ParameterValue, 'Write a line for each change of an election')
            [CompletionResult]::new('history', 'history', [CompletionResultType]::ParameterValue, 'Show who has led and how that ended')
            [CompletionResult]::new('done', 'done', [CompletionResultType]::ParameterValue, 'Show which keys of --once are done')
            [CompletionResult]::new('wait', 'wait', [CompletionResultType]::ParameterValue, 'Wait until an election has a leader, or none')
            [CompletionResult]::new('resign', 'resign', [CompletionResultType]::ParameterValue, 'Have the leader hand over')
            [CompletionResult]::new('pause', 'pause', [CompletionResultType]::ParameterValue, 'Have nobody lead for now')
            [CompletionResult]::new('resume', 'resume', [CompletionResultType]::ParameterValue, 'End a pause')
            [CompletionResult]::new('priority', 'priority', [CompletionResultType]::ParameterValue, 'Set who is to lead rather than others')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove what is kept of an election')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Say whether the leadership of this command holds')
            [CompletionResult]::new('fence', 'fence', [CompletionResultType]::ParameterValue, 'Run a command unless the leader was replaced')
            [CompletionResult]::new('put', 'put', [CompletionResultType]::ParameterValue, 'Keep a value, as a leader')
            [CompletionResult]::new('get', 'get', [CompletionResultType]::ParameterValue, 'Print a value that a leader keeps')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find what is wrong with this machine and store')
            [CompletionResult]::new('selftest', 'selftest', [CompletionResultType]::ParameterValue, 'Try all that elect promises on this machine and store')
            [CompletionResult]::new('dashboard', 'dashboard', [CompletionResultType]::ParameterValue, 'Print alerts or a dashboard for the metrics')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Look at the configuration')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a shell''s script that completes what is typed')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a page of the manual')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Explain a subcommand or a topic, or find a word')
            break
        }
        'elect;run' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Its name [default: the command''s file name]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Its name [default: the command''s file name]')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'Label of this candidate [default: host name]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'The greatest leads next; 0 never leads')
            [CompletionResult]::new('--preempt-after', '--preempt-after', [CompletionResultType]::ParameterName, 'Wait so long before that [default: 30s]')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the lease [default: 15s]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Clocks may differ by so much [default: 10%]')
            [CompletionResult]::new('--lock-delay', '--lock-delay', [CompletionResultType]::ParameterName, 'Wait so long after a crash [default: 0]')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'Show over HTTP how things are')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'Keep there whether we lead')
            [CompletionResult]::new('--on-elected', '--on-elected', [CompletionResultType]::ParameterName, 'Run once we lead')
            [CompletionResult]::new('--on-lost', '--on-lost', [CompletionResultType]::ParameterName, 'Run once we do not any more')
            [CompletionResult]::new('--on-change', '--on-change', [CompletionResultType]::ParameterName, 'Run when somebody else leads, or nobody')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'Kill each of these after so long')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('-E', '-E ', [CompletionResultType]::ParameterName, 'Exit code if not acquired')
            [CompletionResult]::new('--conflict-exit-code', '--conflict-exit-code', [CompletionResultType]::ParameterName, 'Exit code if not acquired')
            [CompletionResult]::new('--slots', '--slots', [CompletionResultType]::ParameterName, 'Let so many lead at once [1 to 64]')
            [CompletionResult]::new('--shards', '--shards', [CompletionResultType]::ParameterName, 'Spread so many shards over all [1 to 1024]')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'What asks the command to stop')
            [CompletionResult]::new('--signal', '--signal', [CompletionResultType]::ParameterName, 'What asks the command to stop')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'From that to the kill [default: 4/15 of TTL]')
            [CompletionResult]::new('--kill-grace', '--kill-grace', [CompletionResultType]::ParameterName, 'From that to the kill [default: 4/15 of TTL]')
            [CompletionResult]::new('--after-loss', '--after-loss', [CompletionResultType]::ParameterName, 'Then exit, or campaign anew')
            [CompletionResult]::new('--leftover', '--leftover', [CompletionResultType]::ParameterName, 'kill or wait for leftovers')
            [CompletionResult]::new('--containment', '--containment', [CompletionResultType]::ParameterName, 'What holds its descendants')
            [CompletionResult]::new('--require-containment', '--require-containment', [CompletionResultType]::ParameterName, 'Refuse to run with less')
            [CompletionResult]::new('--stop-timeout', '--stop-timeout', [CompletionResultType]::ParameterName, 'From INT or TERM to kill [default: never]')
            [CompletionResult]::new('--hold', '--hold', [CompletionResultType]::ParameterName, 'Keep the lease so long at least [default: 0]')
            [CompletionResult]::new('--restart', '--restart', [CompletionResultType]::ParameterName, 'Start it again at its end')
            [CompletionResult]::new('--restart-delay', '--restart-delay', [CompletionResultType]::ParameterName, 'How long after its end')
            [CompletionResult]::new('--restart-max-delay', '--restart-max-delay', [CompletionResultType]::ParameterName, 'The longest such pause')
            [CompletionResult]::new('--health-http', '--health-http', [CompletionResultType]::ParameterName, 'Lead only while it answers a GET with success')
            [CompletionResult]::new('--health-cmd', '--health-cmd', [CompletionResultType]::ParameterName, 'Lead only while this exits with 0')
            [CompletionResult]::new('--health-interval', '--health-interval', [CompletionResultType]::ParameterName, 'How often to check')
            [CompletionResult]::new('--health-timeout', '--health-timeout', [CompletionResultType]::ParameterName, 'How long a check may take')
            [CompletionResult]::new('--health-threshold', '--health-threshold', [CompletionResultType]::ParameterName, 'How many have to fail in a row')
            [CompletionResult]::new('--once', '--once', [CompletionResultType]::ParameterName, 'Run once for each KEY')
            [CompletionResult]::new('--once-attempts', '--once-attempts', [CompletionResultType]::ParameterName, 'How many runs of KEY there may be [default: any number]')
            [CompletionResult]::new('--outcome', '--outcome', [CompletionResultType]::ParameterName, 'Write what happened there, as JSON')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'text or json, on stderr')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--preempt', '--preempt', [CompletionResultType]::ParameterName, 'Ask a leader of less priority to hand over')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Exit at once if another candidate leads')
            [CompletionResult]::new('--no-wait', '--no-wait', [CompletionResultType]::ParameterName, 'Exit at once if another candidate leads')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say everything')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say everything')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;sidecar' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'Label of this candidate [default: host name]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'The greatest leads next; 0 never leads')
            [CompletionResult]::new('--preempt-after', '--preempt-after', [CompletionResultType]::ParameterName, 'Wait so long before that [default: 30s]')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the lease [default: 15s]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Clocks may differ by so much [default: 10%]')
            [CompletionResult]::new('--lock-delay', '--lock-delay', [CompletionResultType]::ParameterName, 'Wait so long after a crash [default: 0]')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'Show over HTTP how things are')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'Keep there whether we lead')
            [CompletionResult]::new('--on-elected', '--on-elected', [CompletionResultType]::ParameterName, 'Run once we lead')
            [CompletionResult]::new('--on-lost', '--on-lost', [CompletionResultType]::ParameterName, 'Run once we do not any more')
            [CompletionResult]::new('--on-change', '--on-change', [CompletionResultType]::ParameterName, 'Run when somebody else leads, or nobody')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'Kill each of these after so long')
            [CompletionResult]::new('--grace', '--grace', [CompletionResultType]::ParameterName, 'From our last yes to the next leader [default: 4/15 of TTL]')
            [CompletionResult]::new('--health-http', '--health-http', [CompletionResultType]::ParameterName, 'Lead only while it answers a GET with success')
            [CompletionResult]::new('--health-cmd', '--health-cmd', [CompletionResultType]::ParameterName, 'Lead only while this exits with 0')
            [CompletionResult]::new('--health-interval', '--health-interval', [CompletionResultType]::ParameterName, 'How often to check')
            [CompletionResult]::new('--health-timeout', '--health-timeout', [CompletionResultType]::ParameterName, 'How long a check may take')
            [CompletionResult]::new('--health-threshold', '--health-threshold', [CompletionResultType]::ParameterName, 'How many have to fail in a row')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'text or json, on stderr')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Its name')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Its name')
            [CompletionResult]::new('--preempt', '--preempt', [CompletionResultType]::ParameterName, 'Ask a leader of less priority to hand over')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say nothing but errors')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say everything')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say everything')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;status' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the elections are kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the elections are kept')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'Stay, and keep the table up to date')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;observe' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table (lines for people), json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table (lines for people), json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;history' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'Show only so many, the newest [default: all 50]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;done' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'Remove KEY and its attempts')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Record that KEY is done')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;wait' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'leader, vacant, or who is to lead')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;resign' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why, for logs and for all who look')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'Who is to lead next: its id or label')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Remove its entry if nobody holds it any more')
            [CompletionResult]::new('--even-if-alive', '--even-if-alive', [CompletionResultType]::ParameterName, 'With --force: though it lives, so that two may run')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;pause' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why, for logs and for all who look')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'End the pause after so long')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'End the pause at this time: HH:MM in UTC, or RFC 3339')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--create', '--create', [CompletionResultType]::ParameterName, 'Pause an election that nobody has been in yet')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;resume' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;priority' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Why, for logs and for all who look')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;forget' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where the election is kept')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Remove it, and do not only show what is kept')
            [CompletionResult]::new('--fences', '--fences', [CompletionResultType]::ParameterName, 'With --yes: though it has fences, which let a stale token pass then')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;check' {
            [CompletionResult]::new('--remaining', '--remaining', [CompletionResultType]::ParameterName, 'How long it must still hold [default: 0]')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'Whose lease it is [default: the command''s own]')
            [CompletionResult]::new('--lease-owner', '--lease-owner', [CompletionResultType]::ParameterName, 'Believe this user, too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;fence' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'The fencing token [default: this command''s own]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;put' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'The fencing token [default: this command''s own]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;get' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Where it is kept [default: as told, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'The election [default: that which leads here]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;doctor' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'The store to examine')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'The store to examine')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;selftest' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'The store to try it in')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'The store to try it in')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the leases [default: 5s]')
            [CompletionResult]::new('--containment', '--containment', [CompletionResultType]::ParameterName, 'What holds the descendants of the commands')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;dashboard' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('alerts', 'alerts', [CompletionResultType]::ParameterValue, 'Alerting rules for Prometheus')
            [CompletionResult]::new('grafana', 'grafana', [CompletionResultType]::ParameterValue, 'A dashboard for Grafana')
            break
        }
        'elect;dashboard;alerts' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'How long something has to be so before anybody is told')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;dashboard;grafana' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;config' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show what a subcommand would use, and where each value comes from')
            break
        }
        'elect;config;show' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file, in place of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'The profile in it to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;completions' {
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Write the scripts of all shells to this folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;man' {
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Write all pages to man1 and man7 in this folder')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;help' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
