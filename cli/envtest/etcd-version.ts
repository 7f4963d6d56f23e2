/** The etcd that Kubernetes 1.36 goes with. */
export const etcdVersion = '3.6.5'
