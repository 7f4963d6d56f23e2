<?php
# Writes to the leader and reads from followers.
ini_set('display_errors', 1);
$at = fn($role) => getenv('GET_HOSTS_FROM') === 'env' ? getenv('REDIS_' . strtoupper($role) . '_SERVICE_HOST') : "redis-$role";
$redis = new Redis();
if (isset($_GET['cmd']) && $_GET['cmd'] === 'set') {
  $redis->connect($at('leader'), 6379, 5);
  $redis->set($_GET['key'], $_GET['value']);
  echo '{"message": "Updated"}';
} else {
  $redis->connect($at('follower'), 6379, 5);
  echo json_encode(['data' => $redis->get($_GET['key'])]);
}
