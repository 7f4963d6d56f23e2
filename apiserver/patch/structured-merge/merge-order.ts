/** Says where the next item of a merged list comes from. */
export interface Step {
  from: 'live' | 'config'
  index: number
}

/**
 * The order of a merged list: that of the configuration for its own items, while items only the live list has keep
 * their place among the shared ones. New items stand where the configuration has them, ahead of live-only items that
 * follow the next shared one.
 */
export function mergeOrder(live: string[], config: string[]): Step[] {
  const inLive = new Set(live)
  const inConfig = new Set(config)
  const shared = config.filter((element) => inLive.has(element))
  const taken = new Set<string>()
  const steps: Step[] = []
  let nextShared = 0
  let l = 0
  let c = 0
  const take = () => {
    const element = config[c]!
    taken.add(element)
    steps.push({ from: 'config', index: c++ })
    if (shared[nextShared] === element) nextShared++
  }
  while (l < live.length || c < config.length) {
    const element = live[l]
    if (element !== undefined) {
      if (element === config[c]) {
        take()
        l++
        continue
      }
      if (!inConfig.has(element)) {
        steps.push({ from: 'live', index: l++ })
        continue
      }
      // Shared, but its turn comes elsewhere.
      if (c < config.length && nextShared < shared.length && shared[nextShared] !== element) {
        l++
        continue
      }
      if (taken.has(element)) l++
    }
    if (c < config.length) take()
  }
  return steps
}
