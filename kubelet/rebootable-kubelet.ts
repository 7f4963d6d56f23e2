import { type Kubelet, startKubelet } from './kubelet.ts'
import type { KubeletOptions } from './kubelet-options.ts'

/**
 * The kubelet of a machine that can be rebooted: another one starts after each boot, and knows only what the machine
 * kept.
 */
export interface RebootableKubelet {
  readonly current: Kubelet
  /** Takes the machine's power away and gives it back. Resolves when the node is registered and its pods are known. */
  reboot(): Promise<void>
  /** Ends all pods within their time, then the kubelet. */
  stop(): Promise<void>
}

export async function startRebootableKubelet(options: KubeletOptions): Promise<RebootableKubelet> {
  const { runtime, lossMark } = options
  let kubelet = await startKubelet(options)
  let rebooting: Promise<void> | undefined

  async function rebootNow(): Promise<void> {
    await kubelet.close()
    await runtime.reboot()
    lossMark?.clear()
    kubelet = await startKubelet(options)
    await kubelet.ready
  }

  return {
    get current() {
      return kubelet
    },
    reboot() {
      rebooting ??= rebootNow().finally(() => {
        rebooting = undefined
      })
      return rebooting
    },
    async stop() {
      await rebooting?.catch(() => {})
      await kubelet.shutdown()
      await kubelet.close()
    },
  }
}
