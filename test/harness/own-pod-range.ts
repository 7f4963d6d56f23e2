/** A range of pods' addresses for the cluster of one test file; clusters that run beside it have others. */
export const ownPodRange = `10.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}.0/24`

/** A range of cluster IPs in the same way, for clusters whose Services this machine is to reach. */
export const ownServiceRange = `10.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 250}.0/24`
