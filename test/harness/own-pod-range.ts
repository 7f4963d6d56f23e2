/** A range of pods' addresses for the cluster of one test file; clusters that run beside it have others. */
export const ownPodRange = `10.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}.0/24`
