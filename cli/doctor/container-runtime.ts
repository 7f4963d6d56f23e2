import { criEndpoint, type RuntimeChoice } from '../../kubelet/runtime-option.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import type { Finding } from './finding.ts'

/** Checks that the container runtime of `--runtime` answers. Nothing is said where none is chosen. */
export async function containerRuntime(runtime: RuntimeChoice): Promise<Finding[]> {
  const endpoint = criEndpoint(runtime)
  if (endpoint === undefined) return []
  const name = 'runtime'
  const { lookAtRuntime } = await import('../../kubelet/runtime/cri/index.ts')
  try {
    const { version, networkProblem } = await lookAtRuntime(endpoint, realClock)
    const found = `${version} at ${endpoint}`
    if (networkProblem === undefined) return [{ name, state: 'good', found }]
    const remedy = "configure its CNI network, or let pods have the machine's with --pod-cidr host"
    return [{ name, state: 'degraded', found: `${found}, without a network for pods: ${networkProblem}`, remedy }]
  } catch (error) {
    const found = `nothing that speaks the CRI answers at ${endpoint}: ${(error as Error).message}`
    const remedy = 'start the runtime with its CRI plug-in, and run this as a user who may open the socket (root)'
    return [{ name, state: 'bad', found, remedy }]
  }
}
