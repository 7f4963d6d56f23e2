import type { ContainerState, Pod, WatchEvent } from '../../shared/api/types.ts'

/** Describes a watch event of a pod in one line for people. */
export function describeChange({ type, object }: WatchEvent<Pod>): string {
  const { metadata, status } = object
  const containers = (status?.containerStatuses ?? []).map(({ name, state }) => `${name} ${describeState(state)}`)
  const facts = [
    `phase ${status?.phase}`,
    ...(metadata.deletionTimestamp ? [`deletionTimestamp set, reason ${metadata.reason ?? 'none'}`] : []),
    ...containers,
    ...(isReady(object) && !metadata.deletionTimestamp ? ['Ready'] : []),
  ]
  return `${type.padEnd(8)} ${facts.join(', ')}`
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

function describeState(state: ContainerState | undefined): string {
  if (state?.terminated) return `exited ${state.terminated.exitCode}`
  return state?.running ? 'running' : 'waiting'
}
