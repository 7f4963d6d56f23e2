import type { Containers } from './containers/containers.ts'
import type { Sandboxes } from './containers/sandboxes.ts'
import type { Execs } from './execs/execs.ts'
import type { ShimListener } from './shim/connection.ts'

/** The owner of a process that the shim reports: a container's, a sandbox's own, or a command's. */
export const shimNews = (
  { containers, sandboxes, execs }: { containers: Containers; sandboxes: Sandboxes; execs: Execs },
  lost: () => void,
): ShimListener => ({
  started: (id, process) => {
    const container = containers.get(id)
    if (container) containers.hasStarted(container, process)
    else if (sandboxes.get(id)) sandboxes.pauseHasStarted(id, process.pid)
    else execs.hasStarted(id, process)
  },
  failed: (id, { why }) => {
    const container = containers.get(id)
    if (container) containers.hasFailed(container, why)
    else if (sandboxes.get(id)) sandboxes.pauseHasFailed(id, why)
    else execs.hasFailed(id, why)
  },
  exited: (id, exit) => {
    const container = containers.get(id)
    if (container) containers.hasExited(container, exit)
    else if (sandboxes.get(id)) sandboxes.pauseHasExited(id)
    else execs.hasExited(id, exit.code)
  },
  lost,
})
