/** Flags of kube-apiserver 1.36, from its --help: any other is a mistake, as it is there. */
export const upstreamKubeApiserverFlags = new Set(
  `
    admission-control admission-control-config-file advertise-address aggregator-reject-forwarding-redirect
    allow-metric-labels allow-metric-labels-manifest allow-privileged anonymous-auth api-audiences
    audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait
    audit-log-batch-throttle-burst audit-log-batch-throttle-enable audit-log-batch-throttle-qps
    audit-log-compress audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode
    audit-log-path audit-log-truncate-enabled audit-log-truncate-max-batch-size
    audit-log-truncate-max-event-size audit-log-version audit-policy-file audit-webhook-batch-buffer-size
    audit-webhook-batch-max-size audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst
    audit-webhook-batch-throttle-enable audit-webhook-batch-throttle-qps audit-webhook-config-file
    audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-enabled
    audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size audit-webhook-version
    authentication-config authentication-token-webhook-cache-ttl authentication-token-webhook-config-file
    authentication-token-webhook-version authorization-config authorization-mode authorization-policy-file
    authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
    authorization-webhook-config-file authorization-webhook-version bind-address cert-dir client-ca-file
    contention-profiling coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
    coordinated-leadership-retry-period cors-allowed-origins debug-socket-path
    default-not-ready-toleration-seconds default-unreachable-toleration-seconds delete-collection-workers
    disable-admission-plugins disable-http2-serving disabled-metrics egress-selector-config-file
    emulated-version emulation-forward-compatible enable-admission-plugins enable-aggregator-routing
    enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    encryption-provider-config encryption-provider-config-automatic-reload endpoint-reconciler-type
    etcd-cafile etcd-certfile etcd-compaction-interval etcd-count-metric-poll-period
    etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix etcd-readycheck-timeout
    etcd-servers etcd-servers-overrides event-ttl external-hostname feature-gates goaway-chance h help
    http2-max-streams-per-connection kubelet-certificate-authority kubelet-client-certificate
    kubelet-client-key kubelet-preferred-address-types kubelet-timeout kubernetes-service-node-port
    lease-reuse-duration-seconds livez-grace-period log-flush-frequency log-text-info-buffer-size
    log-text-split-stream logging-format max-connection-bytes-per-sec max-mutating-requests-inflight
    max-requests-inflight min-compatibility-version min-request-timeout oidc-ca-file oidc-client-id
    oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs
    oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file
    permit-address-sharing permit-port-sharing profiling proxy-client-cert-file proxy-client-key-file
    request-timeout requestheader-allowed-names requestheader-client-ca-file
    requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
    requestheader-username-headers runtime-config runtime-config-emulation-forward-compatible secure-port
    service-account-extend-token-expiration service-account-issuer service-account-jwks-uri
    service-account-key-file service-account-lookup service-account-max-token-expiration
    service-account-signing-endpoint service-account-signing-key-file service-cluster-ip-range
    service-node-port-range show-hidden-metrics-for-version shutdown-delay-duration shutdown-send-retry-after
    shutdown-watch-termination-grace-period storage-backend storage-initialization-timeout storage-media-type
    strict-transport-security-directives tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
    tls-private-key-file tls-sni-cert-key token-auth-file tracing-config-file v version vmodule watch-cache
    watch-cache-sizes
  `.match(/\S+/g),
)

/** Lists the flags of etcd 3.6, taken from its `--help`. */
export const upstreamEtcdFlags = new Set(
  `
    advertise-client-urls auth-token auth-token-ttl auto-compaction-mode auto-compaction-retention auto-tls
    backend-batch-interval backend-batch-limit backend-bbolt-freelist-type bcrypt-cost
    bootstrap-defrag-threshold-megabytes cert-file cipher-suites client-cert-allowed-hostname client-cert-auth
    client-cert-file client-crl-file client-key-file compact-hash-check-time compaction-batch-limit
    compaction-sleep-interval corrupt-check-time cors data-dir discovery discovery-cacert discovery-cert
    discovery-dial-timeout discovery-endpoints discovery-fallback discovery-insecure-skip-tls-verify
    discovery-insecure-transport discovery-keepalive-time discovery-keepalive-timeout discovery-key
    discovery-password discovery-proxy discovery-request-timeout discovery-srv discovery-srv-name
    discovery-token discovery-user distributed-tracing-address distributed-tracing-instance-id
    distributed-tracing-sampling-rate distributed-tracing-service-name downgrade-check-time election-timeout
    enable-distributed-tracing enable-grpc-gateway enable-log-rotation enable-pprof
    experimental-bootstrap-defrag-threshold-megabytes experimental-compact-hash-check-enabled
    experimental-compact-hash-check-time experimental-compaction-batch-limit
    experimental-compaction-sleep-interval experimental-corrupt-check-time
    experimental-distributed-tracing-address experimental-distributed-tracing-instance-id
    experimental-distributed-tracing-sampling-rate experimental-distributed-tracing-service-name
    experimental-downgrade-check-time experimental-enable-distributed-tracing
    experimental-enable-lease-checkpoint experimental-enable-lease-checkpoint-persist
    experimental-initial-corrupt-check experimental-memory-mlock
    experimental-peer-skip-client-san-verification experimental-snapshot-catchup-entries
    experimental-stop-grpc-service-on-defrag experimental-txn-mode-write-with-shared-buffer
    experimental-warning-apply-duration experimental-warning-unary-request-duration
    experimental-watch-progress-notify-interval feature-gates force-new-cluster grpc-keepalive-interval
    grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval host-whitelist
    initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token
    initial-election-tick-advance key-file listen-client-http-urls listen-client-urls listen-metrics-urls
    listen-peer-urls log-format log-level log-outputs log-rotation-config-json logger max-concurrent-streams
    max-learners max-request-bytes max-snapshots max-txn-ops max-wals memory-mlock metrics name peer-auto-tls
    peer-cert-allowed-cn peer-cert-allowed-hostname peer-cert-file peer-client-cert-auth peer-client-cert-file
    peer-client-key-file peer-crl-file peer-key-file peer-skip-client-san-verification peer-trusted-ca-file
    pre-vote quota-backend-bytes raft-read-timeout raft-write-timeout self-signed-cert-validity
    snapshot-catchup-entries snapshot-count socket-reuse-address socket-reuse-port strict-reconfig-check
    tls-max-version tls-min-version trusted-ca-file unsafe-no-fsync v2-deprecation wal-dir
    warning-apply-duration warning-unary-request-duration watch-progress-notify-interval
  `.match(/\S+/g),
)
