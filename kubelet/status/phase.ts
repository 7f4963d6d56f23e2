import type { Container, ContainerStatus, PodSpec } from '../../shared/api/types.ts'
import { isSidecar } from '../pod/container-kinds.ts'
import { restartsAfter } from '../pod/restart-policy.ts'
import { RESTARTING_ALL } from './restarting-all.ts'

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'
export interface PhaseInput {
  spec: PodSpec
  init: ContainerStatus[]
  app: ContainerStatus[]
  /** Asked by a pod that is going away: what has stopped stays stopped. */
  podIsTerminal: boolean
  isStatic: boolean
  /** The current sandbox has, or had, an app container. */
  appContainerExists: boolean
}

/** A pod's phase from the states of its containers, as upstream counts them. */
export function podPhase(input: PhaseInput): PodPhase {
  const init = countInit(input)
  const app = countApp(input)
  if (init.failedForGood > 0) return 'Failed'
  const sidecarsPending = init.pendingSidecars > 0 && !input.appContainerExists
  if (init.pending > 0 || sidecarsPending || init.waiting + app.waiting > 0) return 'Pending'
  const unknown = init.unknown + app.unknown
  const running = init.running + app.running
  if (running > 0 && unknown === 0) return 'Running'
  if (running === 0 && app.stopped > 0 && unknown === 0) {
    const ended = app.stopped === app.succeeded ? 'Succeeded' : 'Failed'
    if (input.podIsTerminal && !input.isStatic) return ended
    return app.stopped === app.stoppedForGood ? ended : 'Running'
  }
  return 'Pending'
}

function countInit({ spec, init }: PhaseInput) {
  const count = { pending: 0, failedForGood: 0, running: 0, pendingSidecars: 0, waiting: 0, unknown: 0 }
  for (const container of spec.initContainers ?? []) {
    const status = init.find(({ name }) => name === container.name)
    if (isSidecar(container)) countSidecar(status, count)
    else countRegular(spec, container, status, count)
  }
  return count
}

function countSidecar(
  status: ContainerStatus | undefined,
  count: { running: number; pendingSidecars: number; waiting: number; unknown: number },
): void {
  if (!status?.state) {
    count.unknown++
    if (status) count.pendingSidecars++
  } else if (status.state.running) {
    count.running++
    // It is not known yet if the sidecar has started; next to an app container it does not matter.
    count.pendingSidecars++
  } else if (status.state.waiting && !status.lastState?.terminated) {
    count.pendingSidecars++
    count.waiting++
  }
}

function countRegular(
  spec: PodSpec,
  container: Container,
  status: ContainerStatus | undefined,
  count: { pending: number; failedForGood: number },
): void {
  const ended = status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated)
  if (!ended) count.pending++
  else if (ended.exitCode !== 0) {
    // Not pending and not failed: it will be tried again.
    if (comesBack(spec, container, ended)) count.pending++
    else count.failedForGood++
  }
}

function countApp({ spec, app }: PhaseInput) {
  const count = { running: 0, waiting: 0, unknown: 0, stopped: 0, stoppedForGood: 0, succeeded: 0 }
  for (const container of spec.containers) {
    const status = app.find(({ name }) => name === container.name)
    const ended = status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated)
    if (status?.state?.running) count.running++
    else if (ended) {
      count.stopped++
      if (!comesBack(spec, container, ended)) count.stoppedForGood++
      if (status?.state?.terminated?.exitCode === 0) count.succeeded++
    } else if (status?.state?.waiting) count.waiting++
    else count.unknown++
  }
  return count
}

const comesBack = (spec: PodSpec, container: Container, ended: { exitCode: number; reason?: string }): boolean =>
  ended.reason === RESTARTING_ALL.reason || restartsAfter(spec, container, ended.exitCode)
