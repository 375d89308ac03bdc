
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
            [CompletionResult]::new('sidecar', 'sidecar', [CompletionResultType]::ParameterValue, 'Hold leadership for a separate application')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show who leads and who waits')
            [CompletionResult]::new('observe', 'observe', [CompletionResultType]::ParameterValue, 'Print a line for each change of an election')
            [CompletionResult]::new('history', 'history', [CompletionResultType]::ParameterValue, 'Show past leaders and how each ended')
            [CompletionResult]::new('done', 'done', [CompletionResultType]::ParameterValue, 'Show which keys of --once are done')
            [CompletionResult]::new('wait', 'wait', [CompletionResultType]::ParameterValue, 'Wait until an election has a leader, or none')
            [CompletionResult]::new('resign', 'resign', [CompletionResultType]::ParameterValue, 'Ask the leader to hand over')
            [CompletionResult]::new('pause', 'pause', [CompletionResultType]::ParameterValue, 'Stop all candidates from leading for now')
            [CompletionResult]::new('resume', 'resume', [CompletionResultType]::ParameterValue, 'End a pause')
            [CompletionResult]::new('priority', 'priority', [CompletionResultType]::ParameterValue, 'Set the priority of a candidate')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Remove what is kept of an election')
            [CompletionResult]::new('check', 'check', [CompletionResultType]::ParameterValue, 'Tell whether this command still leads')
            [CompletionResult]::new('fence', 'fence', [CompletionResultType]::ParameterValue, 'Run a command unless the leader was replaced')
            [CompletionResult]::new('put', 'put', [CompletionResultType]::ParameterValue, 'Store a value, as the leader')
            [CompletionResult]::new('get', 'get', [CompletionResultType]::ParameterValue, 'Print a value that a leader stored')
            [CompletionResult]::new('doctor', 'doctor', [CompletionResultType]::ParameterValue, 'Find problems with this machine and store')
            [CompletionResult]::new('selftest', 'selftest', [CompletionResultType]::ParameterValue, 'Test what elect promises on this machine and store')
            [CompletionResult]::new('simulate', 'simulate', [CompletionResultType]::ParameterValue, 'Simulate elections, before anything is deployed')
            [CompletionResult]::new('dashboard', 'dashboard', [CompletionResultType]::ParameterValue, 'Print alerts or a dashboard for the metrics')
            [CompletionResult]::new('config', 'config', [CompletionResultType]::ParameterValue, 'Show or write the configuration')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a page of the manual')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Explain a subcommand or a topic, or find a word')
            break
        }
        'elect;run' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Election''s name [default: command''s file name]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Election''s name [default: command''s file name]')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'Label of this candidate [default: host name]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'Priority; the highest leads next')
            [CompletionResult]::new('--preempt-after', '--preempt-after', [CompletionResultType]::ParameterName, 'Time to wait before preempting [default: 30s]')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the lease [default: 15s, 60s in clouds]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Largest difference in clock speed [default: 10%]')
            [CompletionResult]::new('--lock-delay', '--lock-delay', [CompletionResultType]::ParameterName, 'Delay before leading after a crash [default: 0]')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'Serve status, probes and metrics over HTTP')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'File that tells others whether we lead')
            [CompletionResult]::new('--on-elected', '--on-elected', [CompletionResultType]::ParameterName, 'Command to run when leadership begins')
            [CompletionResult]::new('--on-lost', '--on-lost', [CompletionResultType]::ParameterName, 'Command to run when leadership has ended')
            [CompletionResult]::new('--on-change', '--on-change', [CompletionResultType]::ParameterName, 'Command to run when the leader changes')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'Time after which elect kills a hook')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Longest wait to lead [default: without end]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Longest wait to lead [default: without end]')
            [CompletionResult]::new('-E', '-E ', [CompletionResultType]::ParameterName, 'Exit code without leadership')
            [CompletionResult]::new('--conflict-exit-code', '--conflict-exit-code', [CompletionResultType]::ParameterName, 'Exit code without leadership')
            [CompletionResult]::new('--slots', '--slots', [CompletionResultType]::ParameterName, 'Number of leaders at a time [1 to 64]')
            [CompletionResult]::new('--shards', '--shards', [CompletionResultType]::ParameterName, 'Number of shards to spread [1 to 1024]')
            [CompletionResult]::new('-s', '-s', [CompletionResultType]::ParameterName, 'Signal that asks the command to stop')
            [CompletionResult]::new('--signal', '--signal', [CompletionResultType]::ParameterName, 'Signal that asks the command to stop')
            [CompletionResult]::new('-k', '-k', [CompletionResultType]::ParameterName, 'Time between the stop signal and SIGKILL [default: 4/15 of TTL, else 4s]')
            [CompletionResult]::new('--kill-grace', '--kill-grace', [CompletionResultType]::ParameterName, 'Time between the stop signal and SIGKILL [default: 4/15 of TTL, else 4s]')
            [CompletionResult]::new('--after-loss', '--after-loss', [CompletionResultType]::ParameterName, 'After a loss, exit or campaign again')
            [CompletionResult]::new('--leftover', '--leftover', [CompletionResultType]::ParameterName, 'Processes left behind: kill or wait')
            [CompletionResult]::new('--leftover-grace', '--leftover-grace', [CompletionResultType]::ParameterName, 'Time for processes left behind to end')
            [CompletionResult]::new('--containment', '--containment', [CompletionResultType]::ParameterName, 'How elect holds all descendants')
            [CompletionResult]::new('--require-containment', '--require-containment', [CompletionResultType]::ParameterName, 'Weakest containment to accept')
            [CompletionResult]::new('--stop-timeout', '--stop-timeout', [CompletionResultType]::ParameterName, 'Time from INT or TERM to SIGKILL [default: never]')
            [CompletionResult]::new('--hold', '--hold', [CompletionResultType]::ParameterName, 'Shortest time to keep the lease [default: 0]')
            [CompletionResult]::new('--max-run', '--max-run', [CompletionResultType]::ParameterName, 'Stop the command after so long [default: never]')
            [CompletionResult]::new('--restart', '--restart', [CompletionResultType]::ParameterName, 'When to restart the command')
            [CompletionResult]::new('--restart-delay', '--restart-delay', [CompletionResultType]::ParameterName, 'Pause before the first restart')
            [CompletionResult]::new('--restart-max-delay', '--restart-max-delay', [CompletionResultType]::ParameterName, 'Longest pause between restarts')
            [CompletionResult]::new('--health-http', '--health-http', [CompletionResultType]::ParameterName, 'Lead only while this URL answers with success')
            [CompletionResult]::new('--health-cmd', '--health-cmd', [CompletionResultType]::ParameterName, 'Lead only while this command exits with 0')
            [CompletionResult]::new('--health-interval', '--health-interval', [CompletionResultType]::ParameterName, 'Time between health checks')
            [CompletionResult]::new('--health-timeout', '--health-timeout', [CompletionResultType]::ParameterName, 'Longest time for a health check')
            [CompletionResult]::new('--health-threshold', '--health-threshold', [CompletionResultType]::ParameterName, 'Failed checks in a row before giving up')
            [CompletionResult]::new('--once', '--once', [CompletionResultType]::ParameterName, 'Run only once per KEY, among all candidates')
            [CompletionResult]::new('--once-per', '--once-per', [CompletionResultType]::ParameterName, 'Run once in each PERIOD, such as day@02:50')
            [CompletionResult]::new('--once-attempts', '--once-attempts', [CompletionResultType]::ParameterName, 'How many runs of KEY there may be [default: any number]')
            [CompletionResult]::new('--outcome', '--outcome', [CompletionResultType]::ParameterName, 'Write the outcome to FILE, as JSON')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Format of messages on stderr: text or json')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--preempt', '--preempt', [CompletionResultType]::ParameterName, 'Ask a leader of lower priority to hand over')
            [CompletionResult]::new('--require-strong', '--require-strong', [CompletionResultType]::ParameterName, 'Refuse a store whose promise is weak')
            [CompletionResult]::new('--pod-label', '--pod-label', [CompletionResultType]::ParameterName, 'Label this pod while we lead')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Exit at once if another candidate leads')
            [CompletionResult]::new('--no-wait', '--no-wait', [CompletionResultType]::ParameterName, 'Exit at once if another candidate leads')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print all messages')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print all messages')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;sidecar' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--id', '--id', [CompletionResultType]::ParameterName, 'Label of this candidate [default: host name]')
            [CompletionResult]::new('--priority', '--priority', [CompletionResultType]::ParameterName, 'Priority; the highest leads next')
            [CompletionResult]::new('--preempt-after', '--preempt-after', [CompletionResultType]::ParameterName, 'Time to wait before preempting [default: 30s]')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the lease [default: 15s, 60s in clouds]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Largest difference in clock speed [default: 10%]')
            [CompletionResult]::new('--lock-delay', '--lock-delay', [CompletionResultType]::ParameterName, 'Delay before leading after a crash [default: 0]')
            [CompletionResult]::new('--http', '--http', [CompletionResultType]::ParameterName, 'Serve status, probes and metrics over HTTP')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'File that tells others whether we lead')
            [CompletionResult]::new('--on-elected', '--on-elected', [CompletionResultType]::ParameterName, 'Command to run when leadership begins')
            [CompletionResult]::new('--on-lost', '--on-lost', [CompletionResultType]::ParameterName, 'Command to run when leadership has ended')
            [CompletionResult]::new('--on-change', '--on-change', [CompletionResultType]::ParameterName, 'Command to run when the leader changes')
            [CompletionResult]::new('--hook-timeout', '--hook-timeout', [CompletionResultType]::ParameterName, 'Time after which elect kills a hook')
            [CompletionResult]::new('--grace', '--grace', [CompletionResultType]::ParameterName, 'Time for the application to stop [default: 4/15 of TTL, else 4s]')
            [CompletionResult]::new('--health-http', '--health-http', [CompletionResultType]::ParameterName, 'Lead only while this URL answers with success')
            [CompletionResult]::new('--health-cmd', '--health-cmd', [CompletionResultType]::ParameterName, 'Lead only while this command exits with 0')
            [CompletionResult]::new('--health-interval', '--health-interval', [CompletionResultType]::ParameterName, 'Time between health checks')
            [CompletionResult]::new('--health-timeout', '--health-timeout', [CompletionResultType]::ParameterName, 'Longest time for a health check')
            [CompletionResult]::new('--health-threshold', '--health-threshold', [CompletionResultType]::ParameterName, 'Failed checks in a row before giving up')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'Format of messages on stderr: text or json')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Name of the election')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Name of the election')
            [CompletionResult]::new('--preempt', '--preempt', [CompletionResultType]::ParameterName, 'Ask a leader of lower priority to hand over')
            [CompletionResult]::new('--require-strong', '--require-strong', [CompletionResultType]::ParameterName, 'Refuse a store whose promise is weak')
            [CompletionResult]::new('--pod-label', '--pod-label', [CompletionResultType]::ParameterName, 'Label this pod while we lead')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print all messages')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print all messages')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;status' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the elections')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the elections')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-w', '-w', [CompletionResultType]::ParameterName, 'Keep the table up to date until Ctrl-C')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'Keep the table up to date until Ctrl-C')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;observe' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;history' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--last', '--last', [CompletionResultType]::ParameterName, 'Show only the N newest [default: all 50]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;done' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Wait at most so long [default: without end]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'Remove KEY and its attempts')
            [CompletionResult]::new('--record', '--record', [CompletionResultType]::ParameterName, 'Record that KEY is done')
            [CompletionResult]::new('--create', '--create', [CompletionResultType]::ParameterName, 'With --record: also in an unknown election')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;wait' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'State to wait for')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Longest time to wait [default: without end]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;resign' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Reason to show in logs and in `elect status`')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Longest time to wait [default: without end]')
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'Candidate to lead next, by id or label')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Remove the entry of a dead leader')
            [CompletionResult]::new('--even-if-alive', '--even-if-alive', [CompletionResultType]::ParameterName, 'With --force: remove a live leader too; two may run')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;pause' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Reason to show in logs and in `elect status`')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Longest time to wait [default: without end]')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'End the pause after so long')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'End the pause at this time: HH:MM in UTC, or RFC 3339')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--create', '--create', [CompletionResultType]::ParameterName, 'Pause an unknown election too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;resume' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;priority' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--reason', '--reason', [CompletionResultType]::ParameterName, 'Reason to show in logs and in `elect status`')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Longest time to wait [default: without end]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;forget' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store that keeps the election')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Remove the election, not only show what is kept')
            [CompletionResult]::new('--fences', '--fences', [CompletionResultType]::ParameterName, 'With --yes: remove fences too; stale tokens pass then')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;check' {
            [CompletionResult]::new('--remaining', '--remaining', [CompletionResultType]::ParameterName, 'Time that the lease must still have [default: 0]')
            [CompletionResult]::new('--lease-file', '--lease-file', [CompletionResultType]::ParameterName, 'Lease file to read [default: the command''s own]')
            [CompletionResult]::new('--lease-owner', '--lease-owner', [CompletionResultType]::ParameterName, 'Trust lease files of this user, too')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;fence' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Fencing token [default: the command''s own]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;put' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--token', '--token', [CompletionResultType]::ParameterName, 'Fencing token [default: the command''s own]')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;get' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store [default: the command''s, else file:]')
            [CompletionResult]::new('-e', '-e', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--election', '--election', [CompletionResultType]::ParameterName, 'Name of the election [default: the command''s]')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;doctor' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store to examine')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store to examine')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('--create', '--create', [CompletionResultType]::ParameterName, 'Create what holds the elections, if it is missing')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;selftest' {
            [CompletionResult]::new('-b', '-b', [CompletionResultType]::ParameterName, 'Store to test')
            [CompletionResult]::new('--backend', '--backend', [CompletionResultType]::ParameterName, 'Store to test')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the leases [default: 5s]')
            [CompletionResult]::new('--containment', '--containment', [CompletionResultType]::ParameterName, 'Containment to test')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;simulate' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('ttl', 'ttl', [CompletionResultType]::ParameterValue, 'Find the TTL for a network and its outages')
            [CompletionResult]::new('what-if', 'what-if', [CompletionResultType]::ParameterValue, 'Show what an election does when things go wrong')
            [CompletionResult]::new('compare', 'compare', [CompletionResultType]::ParameterValue, 'Compare elect with other elections')
            break
        }
        'elect;simulate;ttl' {
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round trip between two machines [default: 1ms]')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'Round trip between regions: who is where, and the time')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Kind of store')
            [CompletionResult]::new('--members', '--members', [CompletionResultType]::ParameterName, 'Members of the store [default: 3, or 1 of a database or a cloud]')
            [CompletionResult]::new('--tick', '--tick', [CompletionResultType]::ParameterName, 'How often the store looks for leases that are over')
            [CompletionResult]::new('--outage', '--outage', [CompletionResultType]::ParameterName, 'An outage of the network between a leader and the store')
            [CompletionResult]::new('--loss', '--loss', [CompletionResultType]::ParameterName, 'Messages that get lost all the time')
            [CompletionResult]::new('--tolerate', '--tolerate', [CompletionResultType]::ParameterName, 'Leaderships that may be lost for nothing in a month')
            [CompletionResult]::new('--kill-grace', '--kill-grace', [CompletionResultType]::ParameterName, 'Time to stop after leadership is lost [default: 4/15 of the TTL]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Largest difference in clock speed [default: 10%]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the first run')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Runs to measure')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--svg', '--svg', [CompletionResultType]::ParameterName, 'File to draw it into, as SVG')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'File to write it into, as a web page')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;simulate;what-if' {
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Candidates')
            [CompletionResult]::new('--candidates', '--candidates', [CompletionResultType]::ParameterName, 'Candidates')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round trip between two machines [default: 1ms]')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'Round trip between regions: who is where, and the time')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Kind of store')
            [CompletionResult]::new('--members', '--members', [CompletionResultType]::ParameterName, 'Members of the store [default: 3, or 1 of a database or a cloud]')
            [CompletionResult]::new('--tick', '--tick', [CompletionResultType]::ParameterName, 'How often the store looks for leases that are over')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Length of the lease')
            [CompletionResult]::new('--kill-grace', '--kill-grace', [CompletionResultType]::ParameterName, 'Time to stop after leadership is lost [default: 4/15 of the TTL]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Largest difference in clock speed [default: 10%]')
            [CompletionResult]::new('--stops-within', '--stops-within', [CompletionResultType]::ParameterName, 'How long a command takes to end once it is asked to')
            [CompletionResult]::new('--kill', '--kill', [CompletionResultType]::ParameterName, 'Kill a machine, or processes of elect on it')
            [CompletionResult]::new('--pause', '--pause', [CompletionResultType]::ParameterName, 'Stop processes, as SIGSTOP does')
            [CompletionResult]::new('--suspend', '--suspend', [CompletionResultType]::ParameterName, 'Stop a machine with its clock, as a hypervisor can')
            [CompletionResult]::new('--isolate', '--isolate', [CompletionResultType]::ParameterName, 'Cut a machine off from all others')
            [CompletionResult]::new('--split', '--split', [CompletionResultType]::ParameterName, 'Split the network: 1,s1/2,3,s2,s3@20s..50s')
            [CompletionResult]::new('--one-way', '--one-way', [CompletionResultType]::ParameterName, 'Lose all messages of one way: 1:s1@20s..50s')
            [CompletionResult]::new('--drift', '--drift', [CompletionResultType]::ParameterName, 'Let a clock run faster or slower: 1:+20%')
            [CompletionResult]::new('--loss', '--loss', [CompletionResultType]::ParameterName, 'Lose messages: 5%@20s..50s')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Time to simulate [default: four TTLs after the last fault]')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the first run')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Runs to measure')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--svg', '--svg', [CompletionResultType]::ParameterName, 'File to draw it into, as SVG')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'File to write it into, as a web page')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;simulate;compare' {
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Candidates')
            [CompletionResult]::new('--candidates', '--candidates', [CompletionResultType]::ParameterName, 'Candidates')
            [CompletionResult]::new('--rtt', '--rtt', [CompletionResultType]::ParameterName, 'Round trip between two machines [default: 1ms]')
            [CompletionResult]::new('--between', '--between', [CompletionResultType]::ParameterName, 'Round trip between regions: who is where, and the time')
            [CompletionResult]::new('--store', '--store', [CompletionResultType]::ParameterName, 'Kind of store')
            [CompletionResult]::new('--members', '--members', [CompletionResultType]::ParameterName, 'Members of the store [default: 3, or 1 of a database or a cloud]')
            [CompletionResult]::new('--tick', '--tick', [CompletionResultType]::ParameterName, 'How often the store looks for leases that are over')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Silence after which a leader counts as dead')
            [CompletionResult]::new('--kill-grace', '--kill-grace', [CompletionResultType]::ParameterName, 'Time to stop after leadership is lost [default: 4/15 of the TTL]')
            [CompletionResult]::new('--max-clock-drift', '--max-clock-drift', [CompletionResultType]::ParameterName, 'Largest difference in clock speed [default: 10%]')
            [CompletionResult]::new('--kill', '--kill', [CompletionResultType]::ParameterName, 'Kill a machine, or processes of elect on it')
            [CompletionResult]::new('--pause', '--pause', [CompletionResultType]::ParameterName, 'Stop processes, as SIGSTOP does')
            [CompletionResult]::new('--suspend', '--suspend', [CompletionResultType]::ParameterName, 'Stop a machine with its clock, as a hypervisor can')
            [CompletionResult]::new('--isolate', '--isolate', [CompletionResultType]::ParameterName, 'Cut a machine off from all others')
            [CompletionResult]::new('--split', '--split', [CompletionResultType]::ParameterName, 'Split the network: 1,s1/2,3,s2,s3@20s..50s')
            [CompletionResult]::new('--one-way', '--one-way', [CompletionResultType]::ParameterName, 'Lose all messages of one way: 1:s1@20s..50s')
            [CompletionResult]::new('--drift', '--drift', [CompletionResultType]::ParameterName, 'Let a clock run faster or slower: 1:+20%')
            [CompletionResult]::new('--loss', '--loss', [CompletionResultType]::ParameterName, 'Lose messages: 5%@20s..50s')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'Seed of the first run')
            [CompletionResult]::new('--runs', '--runs', [CompletionResultType]::ParameterName, 'Runs to measure')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--svg', '--svg', [CompletionResultType]::ParameterName, 'File to draw it into, as SVG')
            [CompletionResult]::new('--html', '--html', [CompletionResultType]::ParameterName, 'File to write it into, as a web page')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;dashboard' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('alerts', 'alerts', [CompletionResultType]::ParameterValue, 'Print alerting rules for Prometheus')
            [CompletionResult]::new('grafana', 'grafana', [CompletionResultType]::ParameterValue, 'Print a dashboard for Grafana')
            break
        }
        'elect;dashboard;alerts' {
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'Time that a condition holds before an alert')
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Labels that also tell elections apart')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;dashboard;grafana' {
            [CompletionResult]::new('--by', '--by', [CompletionResultType]::ParameterName, 'Labels that also tell elections apart')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;config' {
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('show', 'show', [CompletionResultType]::ParameterValue, 'Show the settings of a subcommand and their origin')
            [CompletionResult]::new('set', 'set', [CompletionResultType]::ParameterValue, 'Write settings to a configuration file')
            break
        }
        'elect;config;show' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Output format: table, json or yaml')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'Configuration file to read instead of the usual ones')
            [CompletionResult]::new('--profile', '--profile', [CompletionResultType]::ParameterName, 'Profile of the configuration file to use')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            break
        }
        'elect;config;set' {
            [CompletionResult]::new('--file', '--file', [CompletionResultType]::ParameterName, 'File to write [default: that of all users]')
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
