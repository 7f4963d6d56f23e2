/**
 * `terminations.kubestage.dev/v1`: what is known of the end of a pod, or of one of its containers, after it is gone.
 */
import { type AddedField, type Addition, addedKind, text } from './addition.ts'

const own = 'dev.kubestage.v1'

const whole = (go: string, description: string): AddedField => ({ go, shape: '*int64', goType: 'int64', description })
const micro = (go: string, description: string): AddedField => ({
  go,
  shape: '*MicroTime',
  goType: 'v1.MicroTime',
  description,
})
const list = (go: string, of: string, description: string): AddedField => ({
  go,
  shape: `[]@${own}.${of}`,
  goType: `[]v1.${of}`,
  description,
})

/** Adds the types of a Termination. The order of the fields is the order in dumps and in `kubectl explain`. */
export const terminationRecord: Addition[] = [
  ...addedKind(
    'Termination',
    'Termination is the record of how a pod ended, or how containers of it were stopped: who asked and why, each step with its times, and a verdict in words. It outlives the pod.',
    {
      podName: text('PodName', 'Name of the pod, in the namespace of this record.'),
      podUID: text('PodUID', 'UID of the pod: another pod may have its name by now.'),
      nodeName: text('NodeName', 'Node that the pod ran on.'),
      workload: text(
        'Workload',
        'Kind and name of the workload that the pod belonged to, e.g. Deployment/web. Absent for a pod without one.',
      ),
      verdict: text('Verdict', 'What happened, in words: of the container that took longest.'),
      verdictType: text(
        'VerdictType',
        'Kind of verdict, in one word: OutOfMemory, EndedInHook, EndedUnasked, HookOverranKilled, HookOverran, NoHandler, IgnoredSignal, CaughtButWentOn, Killed, KilledAtDeadline, StoppedWithError or Stopped; of a pod none of whose containers ran NotStarted or NotRunning; NotSeen where its node was lost.',
      ),
      reason: text('Reason', 'Termination reason, as the preStop hooks were told it. Absent when nobody gave one.'),
      cause: text(
        'Cause',
        'What ended the pod or its containers: PodDeleted, LivenessProbe, StartupProbe, FailedPostStartHook, RestartAllContainers, ContainerChanged, ContainerResized, SandboxChanged, Evicted, NodeShutdown, Preempted, DeadlineExceeded, Rejected, Orphaned, NodeLost, or PodStopped for a pod none of whose containers is restarted.',
      ),
      message: text('Message', "What the pod's status says of its end, e.g. what the node was low on."),
      requests: list(
        'Requests',
        'TerminationRequest',
        'Who asked for the deletion, in order. Set by the server; absent when nobody did.',
      ),
      deletionTimestamp: {
        go: 'DeletionTimestamp',
        shape: '*Time',
        goType: 'v1.Time',
        description: "The pod's own: when its grace period would have ended.",
      },
      gracePeriodSeconds: whole('GracePeriodSeconds', 'Grace period that was given.'),
      used: text('Used', 'How much of it was used, from the first step to the end of the last container, e.g. 412ms.'),
      startTime: micro('StartTime', 'When the kubelet began.'),
      endTime: micro('EndTime', 'When the last container had ended.'),
      phase: text('Phase', 'Phase the pod ended in. Absent when it went on: only a container was stopped.'),
      steps: list(
        'Steps',
        'TerminationStep',
        'What happened to the pod as a whole: EndpointRemoved, when new connections no longer went to it. Set by the server.',
      ),
      containers: list(
        'Containers',
        'TerminatedContainer',
        'The containers that were stopped, in the order of their ends. Absent: none ran, or nobody saw.',
      ),
      lostRequests: list(
        'LostRequests',
        'LostRequests',
        'Requests that `kubestage load` sent to the pod, and that were lost from the time of this end on; with networks of pods, connections that Services led to the pod, and that were refused or reset.',
      ),
    },
  ),
  {
    type: `${own}.TerminationRequest`,
    description: 'TerminationRequest is a request that began the deletion of a pod, or changed it.',
    fields: {
      user: text('User', 'Who asked.'),
      time: { go: 'Time', shape: '*Time', goType: 'v1.Time', description: 'When.' },
      gracePeriodSeconds: whole('GracePeriodSeconds', 'Grace period asked for. Absent when the request left it open.'),
      reason: text('Reason', 'Reason given.'),
    },
  },
  {
    type: `${own}.LostRequests`,
    description: 'LostRequests tells how many requests were lost in one way.',
    fields: {
      kind: text('Kind', 'refused, unreachable, timeout, reset, cut, invalid or 5xx.'),
      count: whole('Count', 'How many.'),
    },
  },
  {
    type: `${own}.TerminatedContainer`,
    description: 'TerminatedContainer tells how one container was stopped.',
    fields: {
      name: text('Name', 'Name of the container.'),
      verdict: text('Verdict', 'What happened to it, in words.'),
      verdictType: text('VerdictType', 'Kind of verdict, in one word.'),
      gracePeriodSeconds: whole('GracePeriodSeconds', 'Grace period it had.'),
      used: text('Used', 'How much of it was used.'),
      exitCode: whole('ExitCode', 'Exit code of its process; 128 and the number of a signal where one ended it.'),
      signal: text('Signal', 'Signal that ended it.'),
      steps: list('Steps', 'TerminationStep', 'What was done, in order.'),
    },
  },
  {
    type: `${own}.TerminationStep`,
    description: 'TerminationStep is one thing that was done to stop a container, or happened to its pod meanwhile.',
    fields: {
      name: text(
        'Name',
        'PreStop, WaitForContainers (a sidecar waits for its turn), a signal such as SIGTERM, or SIGKILL; of a pod EndpointRemoved.',
      ),
      startTime: micro('StartTime', 'When it began.'),
      endTime: micro(
        'EndTime',
        'When it was over: for a signal, when the container had ended or the next one was sent.',
      ),
      outcome: text(
        'Outcome',
        'Of a preStop hook: Succeeded, Failed, or TimedOut when the grace period ended first. Of a signal: Caught, Ignored or Default, how the process was set to take it, where that is known.',
      ),
      exitCode: whole('ExitCode', "Of an exec hook's command."),
      httpStatus: whole('HTTPStatus', 'Of the answer to an httpGet hook.'),
      message: text('Message', 'Why a hook failed; which service an endpoint was removed from.'),
      output: text('Output', 'What a hook printed, or was answered: the first and the last 4 KiB.'),
    },
  },
]
