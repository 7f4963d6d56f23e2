import { explainListening } from '../../cluster/explain-listening.ts'
import type { KubeletConfig } from '../../kubelet/config.ts'
import { KubeletProgram } from '../../kubelet/kubelet-program.ts'
import { untilStopped } from '../process/signals.ts'

export interface RunOptions {
  /** Names the log; by default the kubelet logs to standard output. */
  logFile?: string
  portFlag?: string
  /** The node is registered. */
  onReady?(): Promise<void>
  onStopping?(): void
}

/**
 * Runs a kubelet until SIGTERM or Ctrl-C ends its pods in order; a second one ends it at once. Resolves to the exit
 * code.
 */
export async function runKubelet(config: KubeletConfig, options: RunOptions = {}): Promise<number> {
  const { logFile, portFlag = '--port', onReady, onStopping } = options
  const program = new KubeletProgram(config, { logFile })
  const stopping = untilStopped()
  const starting = program.start().catch((error: NodeJS.ErrnoException & { address?: string; port?: number }) => {
    const { address = config.nodeIp, port = config.port } = error
    return explainListening({ host: address, port, flags: { host: '--node-ip', port: portFlag } })(error)
  })
  await Promise.race([starting.then(onReady), stopping])
  const { again } = await stopping
  if (!program.hasNode) return 0
  onStopping?.()
  const stopped = program.stop('asked to end').then(
    () => 0,
    () => 1,
  )
  return await Promise.race([stopped, again.then(() => 130)])
}
