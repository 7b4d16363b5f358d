grep "task_timeout" .mahabharatha/monitor.log
grep "worker_spawn" .mahabharatha/monitor.log
grep "state_reconcile" .mahabharatha/monitor.log
grep "level_check" .mahabharatha/monitor.log
tail -50 .mahabharatha/monitor.log | jq .
grep '"event":"task_timeout"' .mahabharatha/monitor.log | jq .
grep '"worker_id":"W0"' .mahabharatha/monitor.log | jq .
grep '"level":"ERROR"' .mahabharatha/monitor.log | jq .
