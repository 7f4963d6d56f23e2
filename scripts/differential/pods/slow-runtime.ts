/** Takes the place of `trackedRuntime` in a kubelet whose runtime is slow; see `slow-kubelet.ts`. */
import { setTimeout as wait } from 'node:timers/promises'
import { trackedRuntime as tracked } from '../../../kubelet/runtime/tracked-runtime.ts'

/** The delays, from and to, in milliseconds. A real kubelet lists the containers of all pods once a second. */
const delays = {
  startSandbox: [500, 1_500],
  stopSandbox: [300, 1_500],
  startContainer: [500, 2_500],
  stopContainer: [300, 1_500],
  list: [0, 1_000],
} as const

export const trackedRuntime: typeof tracked = (runtime, activity) => {
  const { startSandbox, stopSandbox, startContainer, stopContainer, list } = runtime
  return tracked(
    Object.assign(runtime, {
      startSandbox: late('startSandbox', startSandbox.bind(runtime)),
      stopSandbox: late('stopSandbox', stopSandbox.bind(runtime)),
      startContainer: late('startContainer', startContainer.bind(runtime)),
      stopContainer: late('stopContainer', stopContainer.bind(runtime)),
      list: late('list', list.bind(runtime)),
    }),
    activity,
  )
}

function late<A extends unknown[], R>(call: keyof typeof delays, run: (...args: A) => Promise<R>) {
  const [from, to] = delays[call]
  return async (...args: A): Promise<R> => {
    await wait(from + (to - from) * Math.random())
    return await run(...args)
  }
}
