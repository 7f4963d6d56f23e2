/** Ends all names of the cluster: the default of upstream's `--cluster-domain`. */
export const CLUSTER_DOMAIN = 'cluster.local'
