// What is compared of a pod's state, as one line.
const containerState = ({ state = {} }) =>
  state.running ? 'running' : state.terminated ? `terminated(${state.terminated.reason},${state.terminated.exitCode}${state.terminated.signal ? `,signal ${state.terminated.signal}` : ''})` : `waiting(${state.waiting?.reason ?? ''})`
export function signature({ status = {}, deletionTimestamp, deletionGracePeriodSeconds }) {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
    .map((container) => `${container.name}=${containerState(container)}${container.ready ? ' ready' : ''}${container.restartCount ? ` restarts ${container.restartCount}` : ''}`)
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled').map(({ type, status, reason }) => `${type}=${status}${reason ? `(${reason})` : ''}`).sort()
  return [status.phase + (status.reason ? `(${status.reason})` : ''), ...containers, ...conditions, ...(deletionTimestamp ? [`deleting ${deletionGracePeriodSeconds}`] : [])].join(' · ')
}
