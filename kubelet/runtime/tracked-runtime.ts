import type { Activity } from '../../shared/concurrency/activity.ts'
import type { ContainerRuntime } from './container-runtime.ts'

/**
 * The same runtime, whose starts count as being under way: they take moments. What waits for a program's end does not.
 */
export function trackedRuntime(runtime: ContainerRuntime, activity: Activity): ContainerRuntime {
  const starts: Partial<ContainerRuntime> = {
    startSandbox: (config) => activity.track(runtime.startSandbox(config)),
    startContainer: (config) => activity.track(runtime.startContainer(config)),
  }
  return new Proxy(runtime, {
    get(target, name) {
      const own = starts[name as keyof ContainerRuntime]
      if (own) return own
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
