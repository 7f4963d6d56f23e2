import { inWords, portsOf } from '../../kubelet/containers/port-conflicts.ts'
import { markerOf } from '../../kubelet/runtime/process/marker.ts'
import { listenersOn } from '../../kubelet/runtime/process/ports/listeners.ts'
import type { KubeList, Pod } from '../../shared/api/types.ts'
import { askServer } from '../access/ask-server.ts'
import { findRunning } from '../access/running.ts'
import { examplePort } from '../demo/example-port.ts'
import type { Finding } from './finding.ts'

const mostShown = 8

/**
 * Reports programs outside containers that listen at all addresses on a port of the examples, or of a pod of the
 * running cluster.
 */
export async function podPorts(stateDir: string): Promise<Finding> {
  const name = 'pod ports'
  const pods = await podsOf(stateDir)
  const ports = new Set([examplePort, ...pods.flatMap(({ spec }) => spec.containers.flatMap(portsOf))])
  const strangers = listenersOn().filter(
    ({ address, pid }) => ['0.0.0.0', '::'].includes(address) && (pid === undefined || markerOf(pid) === undefined),
  )
  const inTheWay = strangers.filter(({ port }) => ports.has(port))
  if (inTheWay.length > 0) return { name, state: 'degraded', found: inTheWay.map(inWords).join('; ') }
  const shown = [...ports].sort((a, b) => a - b).join(', ')
  const others = [...new Set(strangers.map(({ port }) => port))].sort((a, b) => a - b)
  return { name, state: 'good', found: `no other program listens on ${shown}${alsoTaken(others)}` }
}

/** A pod with one of these ports would not get it. */
function alsoTaken(ports: readonly number[]): string {
  if (ports.length === 0) return ''
  const more = ports.length > mostShown ? ` and ${ports.length - mostShown} more` : ''
  return `; programs listen on all addresses with ${ports.slice(0, mostShown).join(', ')}${more}`
}

/** Resolves to no pods where no cluster runs, or answers. */
async function podsOf(stateDir: string): Promise<Pod[]> {
  if (!findRunning(stateDir).running) return []
  const found = askServer<KubeList<Pod>>({ stateDir, kubeconfig: '' }, { path: '/api/v1/pods' })
  return (await found.catch(() => ({ items: [] }))).items
}
