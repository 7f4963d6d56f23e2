/** Makes a subject from a seed. */
import type { Container, PodSpec } from '../../../shared/api/types.ts'
import { Random } from '../../../test/fuzz/random.ts'
import { container, image, otherImage } from './containers.ts'
import { ending, shell } from './programs.ts'
import type { Deed, Moment, Subject } from './subject.ts'

export function makeSubject(seed: number): Subject {
  const random = new Random(seed)
  const spec = podSpec(random)
  const deeds = makeDeeds(random, spec)
  return { pod: { spec }, deeds, untilSeconds: deeds.length > 0 ? 20 : random.pick([10, 16]) }
}

function podSpec(random: Random): PodSpec {
  const mains = random.pick([1, 1, 1, 1, 2, 2, 3])
  const served = random.below(mains)
  const containers = Array.from({ length: mains }, (_, index) =>
    container(`c${index}`, { random, role: 'main', mayServe: index === served }),
  )
  const inits: Container[] = []
  for (let index = random.pick([0, 0, 0, 0, 1, 1, 2, 3]); index > 0; index--) {
    const role = random.chance(0.5) ? 'sidecar' : 'init'
    inits.push(container(`${role === 'init' ? 'i' : 's'}${index}`, { random, role, mayServe: false }))
  }
  return {
    // A network of its own costs a real node seconds where it is busy.
    ...(!containers.some(listens) && { hostNetwork: true }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: random.pick(['Always', 'Always', 'OnFailure', 'Never']),
    terminationGracePeriodSeconds: random.pick([0, 1, 2, 4, 4, 6, 9]),
    ...(inits.length > 0 && { initContainers: inits }),
    containers,
    volumes: [{ name: 'shared', emptyDir: {} }, ...missingVolume(random)],
    ...(random.chance(0.12) && { activeDeadlineSeconds: random.pick([7, 11, 14]) }),
    ...(random.chance(0.05) && { shareProcessNamespace: true }),
    ...(random.chance(0.05) && { readinessGates: [{ conditionType: 'example.com/gate' }] }),
  }
}

const listens = ({ command = [] }: Container): boolean => command.some((word) => word.includes('httpd'))

/** Nothing of a pod starts while a volume is missing. */
const missingVolume = (random: Random): NonNullable<PodSpec['volumes']> =>
  random.chance(0.02) ? [{ name: 'absent', configMap: { name: 'missing' } }] : []

const moments: readonly Moment[] = ['created', 'started', 'running', 'running', 'running', 'ready', 'exited']
const graces = [undefined, undefined, undefined, 0, 1, 2, 3, 7] as const

function makeDeeds(random: Random, spec: PodSpec): Deed[] {
  const deeds: Deed[] = []
  const when = (): Pick<Deed, 'after' | 'seconds'> => {
    const after = random.pick(moments)
    // How far a pod is right after its creation depends on the node's speed alone.
    return { after, seconds: random.pick(after === 'created' ? [6.3, 7.4] : [0, 0.4, 1.7, 6.3, 6.3, 6.3, 7.4]) }
  }
  if (random.chance(0.25)) deeds.push({ ...when(), ...change(random, spec) })
  // A deadline counts from the pod's start, a deletion from what a slower node reaches later.
  if (random.chance(spec.activeDeadlineSeconds === undefined ? 0.75 : 0.15)) {
    const gracePeriodSeconds = random.pick(graces)
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }
    deeds.push({ ...when(), ...(random.chance(0.15) ? { evict: options } : { delete: options }) })
    if (random.chance(0.25)) {
      const again = random.pick([0, 1, 2, 12])
      deeds.push({ after: 'deed', seconds: random.pick([0.4, 1.3, 2.4]), delete: { gracePeriodSeconds: again } })
    }
  }
  return deeds
}

/** Something that a user may change of a pod that runs. */
function change(random: Random, spec: PodSpec): Omit<Deed, 'after' | 'seconds'> {
  const name = random.pick(spec.containers).name
  return random.pick<() => Omit<Deed, 'after' | 'seconds'>>([
    () => ({ patch: { spec: { containers: [{ name, image: otherImage }] } } }),
    () => ({ patch: { spec: { activeDeadlineSeconds: random.pick([3, 12]) } } }),
    () => ({ patch: { metadata: { labels: { changed: 'yes' } } } }),
    () => ({
      patch: { status: { conditions: [{ type: 'example.com/gate', status: random.pick(['True', 'False']) }] } },
      subresource: 'status',
    }),
    () => ({
      patch: { spec: { ephemeralContainers: [{ name: 'debug', image, command: shell(ending(random)) }] } },
      subresource: 'ephemeralcontainers',
    }),
  ])()
}
