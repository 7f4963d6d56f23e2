#!/bin/sh
# Follows the leader, whose name DNS knows or the environment.
if [ "${GET_HOSTS_FROM:-dns}" = env ]; then leader=$REDIS_LEADER_SERVICE_HOST; else leader=redis-leader; fi
exec redis-server --protected-mode no --replicaof "$leader" 6379
