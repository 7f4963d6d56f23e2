import type { Activity } from '../../shared/concurrency/activity.ts'
import type { ContainerRuntime } from './container-runtime.ts'

/**
 * Wraps a runtime so that its starts count as activity, because they take only moments. Calls that wait for a program's
 * end do not count.
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
